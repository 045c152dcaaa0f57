cdef extern from "tokenmill/kernels/_platform.h" nogil:
    ctypedef struct tm_lock:
        pass

    void tm_lock_init(tm_lock* lock)
    void tm_lock_destroy(tm_lock* lock)
    void tm_lock_acquire(tm_lock* lock)
    void tm_lock_release(tm_lock* lock)
    void tm_lock_notify_all(tm_lock* lock)
    void tm_lock_wait(tm_lock* lock)
