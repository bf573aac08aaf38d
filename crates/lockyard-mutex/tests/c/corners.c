/* What POSIX leaves undefined or to the system, and programs rely on: results as glibc's. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int ready, go;

#define SHOW(call) printf("%s: %s: %s\n", name, #call, strerrorname_np(call) ?: "0")

static struct timespec after(clockid_t clock, long ms)
{
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_nsec += ms * 1000000;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

static void *waits(void *mutex)
{
    pthread_mutex_lock(mutex);
    ready++;
    while (!go) pthread_cond_wait(&condition, mutex);
    pthread_mutex_unlock(mutex);
    return 0;
}

/* Mutexes that nobody holds. */
static void free_ones(const char *name, pthread_mutex_t *mutex)
{
    struct timespec soon = after(CLOCK_REALTIME, 10);
    SHOW(pthread_mutex_unlock(mutex));
    SHOW(pthread_mutex_unlock(mutex));
    SHOW(pthread_cond_timedwait(&condition, mutex, &soon));
    SHOW(pthread_mutex_unlock(mutex));
    SHOW(pthread_mutex_lock(mutex));
    SHOW(pthread_mutex_unlock(mutex));
}

/* A clock that no wait may use. */
static void clocks(const char *name, pthread_mutex_t *mutex)
{
    struct timespec soon = after(CLOCK_BOOTTIME, 10);
    SHOW(pthread_mutex_clocklock(mutex, CLOCK_BOOTTIME, &soon));
    pthread_mutex_lock(mutex);
    SHOW(pthread_mutex_clocklock(mutex, CLOCK_BOOTTIME, &soon));
    SHOW(pthread_mutex_clocklock(mutex, 12345, &soon));
    SHOW(pthread_cond_clockwait(&condition, mutex, CLOCK_BOOTTIME, &soon));
    SHOW(pthread_mutex_unlock(mutex));
}

/* Destruction of a mutex with which threads wait for a condition. */
static void destroyed(const char *name, pthread_mutex_t *mutex)
{
    pthread_t threads[2];
    struct timespec soon = after(CLOCK_REALTIME, 10);
    ready = go = 0;
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, waits, mutex);
    pthread_mutex_lock(mutex);
    while (ready < 2) {
        pthread_mutex_unlock(mutex);
        usleep(1000);
        pthread_mutex_lock(mutex);
    }
    SHOW(pthread_mutex_destroy(mutex));
    pthread_mutex_unlock(mutex);
    SHOW(pthread_mutex_destroy(mutex));
    pthread_mutex_lock(mutex);
    go = 1;
    pthread_cond_broadcast(&condition);
    SHOW(pthread_mutex_destroy(mutex));
    pthread_mutex_unlock(mutex);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    pthread_mutex_lock(mutex);
    SHOW(pthread_cond_timedwait(&condition, mutex, &soon));
    pthread_mutex_unlock(mutex);
    SHOW(pthread_mutex_destroy(mutex));
}

/* A thread that waits for its own mutex, until another one releases it. */
static void *unlocks(void *mutex)
{
    usleep(20000);
    return (void *)(long)pthread_mutex_unlock(mutex);
}

static void released(const char *name, pthread_mutex_t *mutex)
{
    pthread_t thread;
    void *result;
    pthread_mutex_lock(mutex);
    pthread_create(&thread, 0, unlocks, mutex);
    SHOW(pthread_mutex_lock(mutex));
    pthread_join(thread, &result);
    printf("%s: by another: %ld\n", name, (long)result);
    SHOW(pthread_mutex_trylock(mutex));
    SHOW(pthread_mutex_unlock(mutex));
}

static void spinlock(void)
{
    const char *name = "spin";
    pthread_spinlock_t spin;
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    SHOW(pthread_spin_unlock(&spin));
    SHOW(pthread_spin_lock(&spin));
    SHOW(pthread_spin_trylock(&spin));
    SHOW(pthread_spin_unlock(&spin));
    SHOW(pthread_spin_destroy(&spin));
}

int main(void)
{
    static const char *names[] = {"normal", "recursive", "checking", "adaptive", "inheriting"};
    static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
                                PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP,
                                PTHREAD_MUTEX_NORMAL};
    alarm(60);
    setvbuf(stdout, 0, _IOFBF, 1 << 16);
    for (int i = 0; i < 5; i++) {
        pthread_mutex_t mutex;
        pthread_mutexattr_t attribute;
        pthread_mutexattr_init(&attribute);
        pthread_mutexattr_settype(&attribute, types[i]);
        if (i == 4) pthread_mutexattr_setprotocol(&attribute, PTHREAD_PRIO_INHERIT);
        pthread_mutex_init(&mutex, &attribute);
        if (i != 4) free_ones(names[i], &mutex);
        if (i != 4) clocks(names[i], &mutex);
        pthread_mutex_init(&mutex, &attribute);
        destroyed(names[i], &mutex);
        pthread_mutex_init(&mutex, &attribute);
        if (i == 0 || i == 3) released(names[i], &mutex);
    }
    spinlock();
    return 0;
}
