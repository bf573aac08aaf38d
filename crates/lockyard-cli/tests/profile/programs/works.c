/* Threads that take locks for a time. works KIND THREADS MILLISECONDS

   one     one lock, held for most of the time
   two     two locks in a row, both held for most of the time
   queue   threads that wait for a condition nearly all the time
   variable  as `one`, with the number of threads from the environment (WORKS_THREADS)
   fails   as `one`, and exits with 3
   It prints its operations a second. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t q = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static volatile int stop, two, tokens;
static volatile unsigned sink;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static void work(int steps) {
    for (int i = 0; i < steps; i++)
        sink = sink * 3 + 1;
}

static void *takes(void *none) {
    long done = 0;
    while (!stop) {
        pthread_mutex_lock(&first);
        work(100);
        pthread_mutex_unlock(&first);
        if (two) {
            pthread_mutex_lock(&second);
            work(100);
            pthread_mutex_unlock(&second);
        } else
            work(20);
        done++;
    }
    return (void *)done;
}

static void *waits(void *none) {
    long done = 0;
    pthread_mutex_lock(&q);
    while (!stop) {
        while (!tokens && !stop)
            pthread_cond_wait(&filled, &q);
        tokens = 0;
        done++;
    }
    pthread_mutex_unlock(&q);
    return (void *)done;
}

int main(int count, char **words) {
    const char *kind = count > 1 ? words[1] : "one";
    const char *set = getenv("WORKS_THREADS");
    int threads = !strcmp(kind, "variable") && set ? atoi(set) : count > 2 ? atoi(words[2]) : 2;
    double seconds = count > 3 ? atoi(words[3]) / 1e3 : 0.3, begin = now();
    int is_queue = !strcmp(kind, "queue");
    pthread_t ids[64];
    two = !strcmp(kind, "two");
    for (int i = 0; i < threads; i++)
        pthread_create(&ids[i], NULL, is_queue ? waits : takes, NULL);
    while (now() - begin < seconds) {
        nanosleep(&(struct timespec){0, 1000000}, NULL);
        pthread_mutex_lock(&q);
        tokens = 1;
        pthread_cond_signal(&filled);
        pthread_mutex_unlock(&q);
    }
    pthread_mutex_lock(&q);
    stop = 1;
    pthread_cond_broadcast(&filled);
    pthread_mutex_unlock(&q);
    long all = 0;
    for (int i = 0; i < threads; i++) {
        void *done;
        pthread_join(ids[i], &done);
        all += (long)done;
    }
    printf("%d threads, rate: %.0f\n", threads, all / (now() - begin) + 1);
    return !strcmp(kind, "fails") ? 3 : 0;
}
