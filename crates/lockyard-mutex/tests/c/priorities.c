/* Threads of SCHED_FIFO and SCHED_RR that wait are served by priority, and of one priority in the
   order in which they came; those without a real-time priority come last. On one CPU, so that the
   order of their numbers is that in which they were served. Prints the priorities in that order:
   for a mutex, one with a timeout, signals, a broadcast, a recursive mutex, and once more in a
   program that was started with such a policy. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 6 };
static const int priorities[THREADS] = {0, 5, 10, 20, 10, 30};

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t *mutex = &plain;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int order[THREADS], served, go, mode;

static void lock(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 30;
    if (mode == 't' ? pthread_mutex_timedlock(mutex, &until) : pthread_mutex_lock(mutex)) abort();
}

static void *work(void *number)
{
    lock();
    if (mode == 's' || mode == 'b') {
        while (!go) pthread_cond_wait(&condition, mutex);
        if (mode == 's') go--;
    }
    order[served++] = (int)(long)number;
    pthread_mutex_unlock(mutex);
    return 0;
}

static void run(int way)
{
    pthread_t threads[THREADS];
    mode = way;
    served = go = 0;
    if (mode != 's' && mode != 'b') lock();
    for (long i = 0; i < THREADS; i++) {
        pthread_attr_t attribute;
        struct sched_param parameter = {.sched_priority = priorities[i]};
        pthread_attr_init(&attribute);
        pthread_attr_setinheritsched(&attribute, PTHREAD_EXPLICIT_SCHED);
        int policy = i == 0 ? SCHED_OTHER : i % 2 ? SCHED_FIFO : SCHED_RR;
        pthread_attr_setschedpolicy(&attribute, policy);
        pthread_attr_setschedparam(&attribute, &parameter);
        if (pthread_create(&threads[i], &attribute, work, (void *)i)) abort();
        usleep(20000);
    }
    if (mode == 's')
        for (int i = 0; i < THREADS; i++) {
            lock();
            go++;
            pthread_cond_signal(&condition);
            pthread_mutex_unlock(mutex);
            usleep(10000);
        }
    else if (mode == 'b') {
        lock();
        go = 1;
        pthread_cond_broadcast(&condition);
        pthread_mutex_unlock(mutex);
    } else
        pthread_mutex_unlock(mutex);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], 0);
    printf("%c:", mode);
    for (int i = 0; i < THREADS; i++) printf(" %d", order[i]);
    puts("");
}

static void *lower_itself(void *number)
{
    pthread_setschedprio(pthread_self(), priorities[(long)number]);
    return work(number);
}

/* The program was started with a real-time policy, and sets none. */
static void run_inherited(void)
{
    pthread_t threads[THREADS];
    mode = 'i';
    lock();
    for (long i = 1; i < THREADS; i++) {
        if (pthread_create(&threads[i], 0, lower_itself, (void *)i)) abort();
        usleep(20000);
    }
    pthread_mutex_unlock(mutex);
    for (int i = 1; i < THREADS; i++) pthread_join(threads[i], 0);
    printf("i:");
    for (int i = 0; i < THREADS - 1; i++) printf(" %d", order[i]);
    puts("");
}

int main(int count, char **arguments)
{
    cpu_set_t one;
    struct sched_param highest = {.sched_priority = 50};
    alarm(60);
    if (count > 1) return run_inherited(), 0;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    if (sched_setaffinity(0, sizeof one, &one)) return puts("refused"), 0;
    if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &highest)) return puts("refused"), 0;
    run('m');
    run('t');
    run('s');
    run('b');
    mutex = &recursive;
    run('m');
    run('b');
    fflush(stdout);
    execl("/proc/self/exe", arguments[0], "inherited", (char *)0);
    return 1;
}
