/* Threads that are cancelled where POSIX promises little and the C library copes: by a handler that
   interrupts their own wait, and with asynchronous cancellation in waits of every sort. Each is
   cancelled, and the mutex and the condition work afterwards. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_spinlock_t spin;
static _Atomic int ready;
static int go;

static void handler(int signal) { (void)signal; pthread_cancel(pthread_self()); }

static void unlock(void *lock) { pthread_mutex_unlock(lock); }

static struct timespec later(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_sec += 20;
    return time;
}

static void asynchronous(void)
{
    int old;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
}

static void *waits(void *timed)
{
    struct timespec until = later(CLOCK_REALTIME);
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(unlock, &mutex);
    ready = 1;
    while (!go)
        if (timed)
            pthread_cond_timedwait(&condition, &mutex, &until);
        else
            pthread_cond_wait(&condition, &mutex);
    pthread_cleanup_pop(1);
    return 0;
}

static void *waits_asynchronously(void *timed)
{
    asynchronous();
    return waits(timed);
}

static void *locks(void *lock)
{
    asynchronous();
    ready = 1;
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    return 0;
}

static void *locks_until(void *lock)
{
    struct timespec until = later(CLOCK_REALTIME);
    asynchronous();
    ready = 1;
    pthread_mutex_timedlock(lock, &until);
    return 0;
}

static void *locks_by_clock(void *lock)
{
    struct timespec until = later(CLOCK_MONOTONIC);
    asynchronous();
    ready = 1;
    pthread_mutex_clocklock(lock, CLOCK_MONOTONIC, &until);
    return 0;
}

static void *spins(void *lock)
{
    asynchronous();
    ready = 1;
    pthread_spin_lock(lock);
    return 0;
}

static void *locks_uncancelled(void *lock)
{
    int old;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
    return pthread_mutex_lock(lock) || pthread_mutex_unlock(lock) ? 0 : lock;
}

/* Begins a thread, and ends it by `end` once it waits. */
static int is_cancelled(void *(*body)(void *), void *argument, int by_signal)
{
    pthread_t thread;
    void *result;
    ready = 0;
    if (pthread_create(&thread, 0, body, argument)) abort();
    while (!ready) usleep(100);
    usleep(rand() % 4000);
    if (by_signal)
        pthread_kill(thread, SIGUSR1);
    else
        pthread_cancel(thread);
    pthread_join(thread, &result);
    return result == PTHREAD_CANCELED;
}

static void *locks_once(void *lock)
{
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    return lock;
}

int main(void)
{
    pthread_mutex_t *mutexes[] = {&mutex, &checking};
    void *(*const lockers[])(void *) = {locks, locks_until, locks_by_clock};
    int cancelled = 0;
    alarm(60);
    signal(SIGUSR1, handler);
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    for (int round = 0; round < 20; round++) {
        for (long timed = 0; timed < 2; timed++) {
            /* A signal may come while the thread does not wait, and the request is held then. */
            cancelled += is_cancelled(waits, (void *)timed, 1);
            cancelled += is_cancelled(waits_asynchronously, (void *)timed, 0);
            cancelled += is_cancelled(waits_asynchronously, (void *)timed, 1);
        }
        pthread_spin_lock(&spin);
        cancelled += is_cancelled(spins, (void *)&spin, 0);
        cancelled += is_cancelled(spins, (void *)&spin, 1);
        pthread_spin_unlock(&spin);
        if (pthread_spin_trylock(&spin) || pthread_spin_unlock(&spin)) return 1;
        for (int lock = 0; lock < 2; lock++) {
            pthread_mutex_lock(mutexes[lock]);
            for (int how = 0; how < 3; how++) {
                cancelled += is_cancelled(lockers[how], mutexes[lock], 0);
                cancelled += is_cancelled(lockers[how], mutexes[lock], 1);
            }
            pthread_mutex_unlock(mutexes[lock]);
            pthread_t thread[2];
            void *result[2];
            pthread_mutex_lock(mutexes[lock]);
            pthread_create(&thread[0], 0, locks_uncancelled, mutexes[lock]);
            pthread_create(&thread[1], 0, locks_once, mutexes[lock]);
            usleep(2000);
            pthread_cancel(thread[0]);
            pthread_mutex_unlock(mutexes[lock]);
            for (int i = 0; i < 2; i++) pthread_join(thread[i], &result[i]);
            if (result[0] != mutexes[lock] || result[1] != mutexes[lock]) return 1;
        }
    }
    /* Nobody is left among the waiters. */
    pthread_t last;
    ready = 0;
    pthread_create(&last, 0, waits, 0);
    while (!ready) usleep(100);
    pthread_mutex_lock(&mutex);
    go = 1;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    pthread_join(last, 0);
    printf("%d %d %d %d\n", cancelled, pthread_cond_destroy(&condition),
           pthread_mutex_destroy(&mutex), pthread_mutex_destroy(&checking));
    return 0;
}
