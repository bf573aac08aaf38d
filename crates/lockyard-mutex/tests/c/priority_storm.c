/* Threads with and without real-time priorities lock, wait with timeouts, signal, and are
   cancelled. None is lost, and sections exclude each other. Their priorities change meanwhile. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 8, ROUNDS = 1500 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static volatile int inside;
static long number, turns;

static struct timespec after(long nanoseconds)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_nsec += nanoseconds;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

static void section(void)
{
    if (inside++) abort();
    number++;
    if (--inside) abort();
}

static void *work(void *seed)
{
    unsigned random = (unsigned)(size_t)seed;
    long done = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct sched_param parameter = {.sched_priority = 1 + rand_r(&random) % 20};
        struct timespec soon = after(rand_r(&random) % 100000);
        if (i % 50 == 0) {
            int policy = rand_r(&random) % 3;
            if (policy == SCHED_OTHER) parameter.sched_priority = 0;
            if (pthread_setschedparam(pthread_self(), policy, &parameter)) return (void *)-1;
        }
        if (i % 3 != 0)
            pthread_mutex_lock(&mutex);
        else if (pthread_mutex_timedlock(&mutex, &soon) == ETIMEDOUT)
            continue;
        section();
        done++;
        if (i % 5 == 0) pthread_cond_timedwait(&condition, &mutex, &soon);
        if (i % 7 == 0) usleep(rand_r(&random) % 50);
        pthread_mutex_unlock(&mutex);
        if (i % 2) pthread_cond_signal(&condition);
        if (i % 16 == 0) pthread_cond_broadcast(&condition);
    }
    return (void *)done;
}

static void unlock(void *unused)
{
    (void)unused;
    pthread_mutex_unlock(&mutex);
}

static void *is_cancelled(void *unused)
{
    struct sched_param parameter = {.sched_priority = 30};
    pthread_setschedparam(pthread_self(), SCHED_RR, &parameter);
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(unlock, 0);
    for (;;) {
        turns++;
        pthread_cond_wait(&condition, &mutex);
    }
    pthread_cleanup_pop(0);
    return unused;
}

int main(void)
{
    pthread_t threads[THREADS], victim;
    struct sched_param lowest = {.sched_priority = 1};
    void *result;
    long sum = 0;
    alarm(100);
    if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &lowest)) return puts("refused"), 0;
    for (size_t i = 0; i < THREADS; i++) pthread_create(&threads[i], 0, work, (void *)(i + 1));
    for (int i = 0; i < 50; i++) {
        pthread_create(&victim, 0, is_cancelled, 0);
        usleep(1000);
        pthread_cancel(victim);
        pthread_join(victim, &result);
        if (result != PTHREAD_CANCELED) abort();
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &result);
        sum += (long)result;
    }
    puts(sum == number && sum > THREADS * ROUNDS / 2 ? "done" : "lost");
    return 0;
}
