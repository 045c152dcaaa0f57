from cpython.object cimport PyObject

cdef extern from "Python.h":
    PyObject** tm_items "PySequence_Fast_ITEMS" (object sequence) noexcept
    void tm_incref "Py_INCREF" (PyObject* item) noexcept
    int tm_collect_never "PyGC_Disable" ()  # returns whether garbage was collected before
    int tm_collect_again "PyGC_Enable" ()
    const char* tm_utf8 "PyUnicode_AsUTF8AndSize" (object text, Py_ssize_t* size) except NULL

cdef extern from *:
    """
    #include <sys/mman.h>
    /* Memory whose contents are not needed any more, but which may soon be: the system takes it when it is short. */
    static inline void tm_pages_rest(void *p, size_t size) {
    #ifdef MADV_FREE
        madvise(p, size, MADV_FREE);
    #endif
    }
    """
    void tm_pages_rest(void* p, size_t size) noexcept nogil
