"""What threads share without the GIL: a lock, and a way to wait until another thread has changed something."""

cdef extern from *:
    """
    #include <pthread.h>
    #include <time.h>

    typedef struct {
        pthread_mutex_t lock;
        pthread_cond_t changed;
    } tm_gate;

    static inline void tm_gate_make(tm_gate *gate) {
        pthread_mutex_init(&gate->lock, NULL);
        pthread_cond_init(&gate->changed, NULL);
    }

    static inline void tm_gate_free(tm_gate *gate) {
        pthread_mutex_destroy(&gate->lock);
        pthread_cond_destroy(&gate->changed);
    }

    static inline void tm_gate_enter(tm_gate *gate) { pthread_mutex_lock(&gate->lock); }
    static inline void tm_gate_leave(tm_gate *gate) { pthread_mutex_unlock(&gate->lock); }
    static inline void tm_gate_tell(tm_gate *gate) { pthread_cond_broadcast(&gate->changed); }

    /* Leave until somebody tells, or a twentieth of a second has gone by. */
    static inline void tm_gate_wait(tm_gate *gate) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 50000000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        pthread_cond_timedwait(&gate->changed, &gate->lock, &until);
    }
    """
    ctypedef struct tm_gate:
        pass
    void tm_gate_make(tm_gate* gate) noexcept nogil
    void tm_gate_free(tm_gate* gate) noexcept nogil
    void tm_gate_enter(tm_gate* gate) noexcept nogil
    void tm_gate_leave(tm_gate* gate) noexcept nogil
    void tm_gate_tell(tm_gate* gate) noexcept nogil
    void tm_gate_wait(tm_gate* gate) noexcept nogil
