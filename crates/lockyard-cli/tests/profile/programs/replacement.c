/* A library that takes the place of mutexes and conditions: of its own kind, so that the C
   library's half of a pair does not work with it. With WRAPPER it only counts, and calls on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>

#ifdef WRAPPER
static int (*next)(void *);
long calls;

int pthread_mutex_lock(void *mutex) {
    if (next == 0)
        next = (int (*)(void *))dlsym(RTLD_NEXT, "pthread_mutex_lock");
    __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
    return next(mutex);
}
#else
static int attempt(int *mutex) {
    return __atomic_exchange_n(&mutex[9], 77, __ATOMIC_ACQUIRE) == 0 ? 0 : 16;
}

static int acquire(int *mutex) {
    while (attempt(mutex) != 0)
        sched_yield();
    return 0;
}

static int release(int *mutex) {
    __atomic_store_n(&mutex[9], 0, __ATOMIC_RELEASE);
    return 0;
}

int pthread_mutex_trylock(int *mutex) {
    return attempt(mutex);
}

int pthread_mutex_lock(int *mutex) {
    return acquire(mutex);
}

int pthread_mutex_unlock(int *mutex) {
    return release(mutex);
}

int pthread_cond_wait(int *condition, int *mutex) {
    int before = __atomic_load_n(&condition[0], __ATOMIC_ACQUIRE);
    release(mutex);
    while (__atomic_load_n(&condition[0], __ATOMIC_ACQUIRE) == before)
        sched_yield();
    return acquire(mutex);
}

static int wake(int *condition) {
    __atomic_fetch_add(&condition[0], 1, __ATOMIC_RELEASE);
    return 0;
}

int pthread_cond_signal(int *condition) {
    return wake(condition);
}

int pthread_cond_broadcast(int *condition) {
    return wake(condition);
}
#endif
