// Threads with real-time priorities on one CPU. A yield of the thread with the higher priority does
// not give the CPU to the other one, for which it waits.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition;
static int stop;

static int set_priority(int priority) {
    struct sched_param parameter = {.sched_priority = priority};
    return pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameter);
}

static void unlock(void *unused) {
    (void)unused;
    pthread_mutex_unlock(&mutex);
}

static void *wait_low(void *unused) {
    set_priority(1);
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(unlock, NULL);
    while (!stop) pthread_cond_wait(&condition, &mutex);
    pthread_cleanup_pop(1);
    return unused;
}

static struct timespec after(long nanoseconds) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_nsec += nanoseconds;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

static void lock_for(unsigned *random, int work) {
    struct timespec until = after(rand_r(random) % 50000);
    if (pthread_mutex_timedlock(&mutex, &until)) return;
    for (volatile int i = 0; i < work; i++) {}
    pthread_mutex_unlock(&mutex);
}

static void *lock_low(void *seed) {
    unsigned random = (unsigned)(size_t)seed;
    set_priority(1);
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) lock_for(&random, 1000);
    return NULL;
}

int main(void) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    if (sched_setaffinity(0, sizeof one, &one) || set_priority(10)) {
        puts("refused");
        return 0;
    }
    alarm(100);
    pthread_t threads[6];
    // It cancels one that waits.
    pthread_cond_init(&condition, NULL);
    if (pthread_create(&threads[0], NULL, wait_low, NULL)) return 1;
    usleep(3000);
    pthread_cancel(threads[0]);
    pthread_join(threads[0], NULL);
    // It destroys a condition variable whose waiter has been notified, and has not run since.
    if (pthread_create(&threads[0], NULL, wait_low, NULL)) return 1;
    usleep(3000);
    pthread_mutex_lock(&mutex);
    stop = 1;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    pthread_cond_destroy(&condition);
    pthread_join(threads[0], NULL);
    // It locks, and interrupts the others at any instruction.
    stop = 0;
    for (long i = 0; i < 6; i++)
        if (pthread_create(&threads[i], NULL, lock_low, (void *)i)) return 1;
    unsigned random = 7;
    for (int i = 0; i < 3000; i++) {
        lock_for(&random, 10);
        struct timespec pause = {0, 10000 + rand_r(&random) % 100000};
        nanosleep(&pause, NULL);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 6; i++) pthread_join(threads[i], NULL);
    puts("done");
    return 0;
}
