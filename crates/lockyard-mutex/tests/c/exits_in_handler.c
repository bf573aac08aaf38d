/* A handler that interrupts a wait ends its thread by `pthread_exit`. The thread leaves the
   queue, and what it waited for works afterwards. In a wait for a condition it has the mutex
   again when its cleanup handlers run. The argument is "conditions" for these only. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "asleep.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
/* Number of a thread that is about to wait. */
static _Atomic int ready;
static int go, cleaned;

static void handler(int signal) { pthread_exit((void *)(long)signal); }

static void clean(void *lock)
{
    cleaned += pthread_mutex_trylock(lock) == EBUSY && pthread_mutex_unlock(lock) == 0;
}

static struct timespec later(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_sec += 20;
    return time;
}

static void *locks(void *lock)
{
    ready = (int)syscall(SYS_gettid);
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    return 0;
}

static void *locks_until(void *lock)
{
    struct timespec until = later();
    ready = (int)syscall(SYS_gettid);
    pthread_mutex_timedlock(lock, &until);
    pthread_mutex_unlock(lock);
    return 0;
}

static void *waits(void *timed)
{
    struct timespec until = later();
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(clean, &mutex);
    ready = (int)syscall(SYS_gettid);
    while (!go)
        if (timed)
            pthread_cond_timedwait(&condition, &mutex, &until);
        else
            pthread_cond_wait(&condition, &mutex);
    pthread_cleanup_pop(0);
    pthread_mutex_unlock(&mutex);
    return 0;
}

/* Interrupts `count` threads that wait, the last ones first. Returns how many the handler ended. */
static int interrupt(void *(*body)(void *), void *argument, int count)
{
    pthread_t threads[3];
    int numbers[3], ended = 0;
    for (int i = 0; i < count; i++) {
        ready = 0;
        pthread_create(&threads[i], 0, body, argument);
        while (!ready) usleep(100);
        numbers[i] = ready;
        await_sleep(numbers[i]);
        usleep(5000);
    }
    for (int i = count; i-- > 0;) {
        void *result;
        await_sleep(numbers[i]);
        pthread_kill(threads[i], SIGUSR1);
        pthread_join(threads[i], &result);
        ended += result == (void *)SIGUSR1;
    }
    return ended;
}

int main(int count, char **arguments)
{
    pthread_mutex_t *mutexes[] = {&mutex, &recursive};
    int ended = 0;
    pthread_t threads[2];
    alarm(60);
    signal(SIGUSR1, handler);
    for (int round = 0; round < 5; round++) {
        for (int lock = 0; lock < 2 && count == 1; lock++) {
            pthread_mutex_lock(mutexes[lock]);
            ended += interrupt(locks, mutexes[lock], 3);
            ended += interrupt(locks_until, mutexes[lock], 3);
            pthread_mutex_unlock(mutexes[lock]);
            pthread_mutex_lock(mutexes[lock]);
            for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, locks, mutexes[lock]);
            usleep(2000);
            pthread_mutex_unlock(mutexes[lock]);
            for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
        }
        ended += interrupt(waits, 0, 3);
        ended += interrupt(waits, &ended, 3);
    }
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, waits, 0);
    usleep(5000);
    pthread_mutex_lock(&mutex);
    go = 1;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    printf("%d %d %d %d\n", ended, cleaned, pthread_cond_destroy(&condition),
           pthread_mutex_destroy(&mutex));
    return arguments[0] == 0;
}
