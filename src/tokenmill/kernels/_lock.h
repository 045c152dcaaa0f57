/* A lock for threads without the GIL, and a way to wait until another thread has changed something. */
#ifndef TOKENMILL_LOCK_H
#define TOKENMILL_LOCK_H

#include <pthread.h>
#include <time.h>

typedef struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
} tm_lock;

static inline void tm_lock_init(tm_lock *lock) {
    pthread_mutex_init(&lock->mutex, NULL);
    pthread_cond_init(&lock->changed, NULL);
}

static inline void tm_lock_destroy(tm_lock *lock) {
    pthread_mutex_destroy(&lock->mutex);
    pthread_cond_destroy(&lock->changed);
}

static inline void tm_lock_acquire(tm_lock *lock) { pthread_mutex_lock(&lock->mutex); }
static inline void tm_lock_release(tm_lock *lock) { pthread_mutex_unlock(&lock->mutex); }
static inline void tm_lock_notify_all(tm_lock *lock) { pthread_cond_broadcast(&lock->changed); }

/* Release the lock, wait for tm_lock_notify_all or for a twentieth of a second, and acquire it again. */
static inline void tm_lock_wait(tm_lock *lock) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 50000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_cond_timedwait(&lock->changed, &lock->mutex, &until);
}

#endif
