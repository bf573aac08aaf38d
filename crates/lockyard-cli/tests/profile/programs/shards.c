/* Locks of one kind at one call site, two that are alone, and holds that lose their processor. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct shard {
    pthread_mutex_t mutex;
    long count[8];
};

static struct shard shards[8];
static pthread_mutex_t lone = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;
static atomic_int stop;

static void *take_shards(void *unused)
{
    (void)unused;
    for (int i = 0; i < 4000; i++) {
        /* The first one is taken half of the times. */
        struct shard *one = &shards[i % 2 ? 0 : i / 2 % 8];
        pthread_mutex_lock(&one->mutex);
        one->count[0]++;
        pthread_mutex_unlock(&one->mutex);
    }
    pthread_mutex_lock(&lone);
    pthread_mutex_unlock(&lone);
    return NULL;
}

static void work(int steps)
{
    static _Thread_local volatile unsigned number;
    for (int i = 0; i < steps; i++)
        number = number * 5 + 1;
}

static double seconds(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

/* Holds the lock five times, each time for a tenth of a second of a CPU. Prints the seconds for
   which it had none. */
static void *hold(void *unused)
{
    (void)unused;
    double begin = seconds(CLOCK_MONOTONIC) - seconds(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < 5; i++) {
        pthread_mutex_lock(&busy);
        double until = seconds(CLOCK_THREAD_CPUTIME_ID) + 0.1;
        while (seconds(CLOCK_THREAD_CPUTIME_ID) < until)
            work(10000);
        pthread_mutex_unlock(&busy);
    }
    printf("%f\n", seconds(CLOCK_MONOTONIC) - seconds(CLOCK_THREAD_CPUTIME_ID) - begin);
    stop = 1;
    return NULL;
}

static void *compute(void *unused)
{
    (void)unused;
    while (!stop)
        work(1000);
    return NULL;
}

static void both(void *(*first)(void *), void *(*second)(void *))
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, first, NULL);
    pthread_create(&threads[1], NULL, second, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}

int main(int count, char **words)
{
    for (int i = 0; i < 8; i++)
        pthread_mutex_init(&shards[i].mutex, NULL);
    if (count > 1 && !strcmp(words[1], "shared-cpu")) {
        cpu_set_t all, one;
        CPU_ZERO(&one);
        sched_getaffinity(0, sizeof all, &all);
        for (int cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++)
            if (CPU_ISSET(cpu, &all))
                CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof one, &one);
        both(hold, compute);
    } else {
        both(take_shards, take_shards);
    }
    return 0;
}
