# Ctrl-C in loops without the GIL: when `signalled` returns true, stop, and call `raise_signalled` with the GIL.
cdef extern from *:
    """
    static int tm_signalled(void) {
        PyGILState_STATE state = PyGILState_Ensure();
        int raised = PyErr_CheckSignals() != 0;
        PyGILState_Release(state);
        return raised;
    }
    static int tm_raise_signalled(void) { return PyErr_Occurred() ? -1 : 0; }
    """
    bint signalled "tm_signalled" () noexcept nogil
    int raise_signalled "tm_raise_signalled" () except -1


cdef inline int check_signals() except -1 nogil:
    # Raise the exception of a signal handler.
    if signalled():
        with gil:
            raise_signalled()
    return 0
