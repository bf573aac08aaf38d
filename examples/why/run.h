/* What the programs of this folder share: threads that do operations for some time, and the rate.
 *
 *     PROGRAM THREADS SECONDS [REMEDY]
 *
 * REMEDY is a number of which each program says what it does; without it, the program has its
 * problem. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int threads, remedy;
static volatile int stop;

static unsigned mix(unsigned value, int rounds) {
    while (rounds--) value = (value ^ value >> 15) * 2246822519u;
    return value;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

/* Runs `work`, which returns its number of operations, on each thread, and prints the rate. `end`
 * is called after the time. */
static int run(int count, char **arguments, void *(*work)(void *), void (*end)(void)) {
    threads = count > 1 ? atoi(arguments[1]) : 2;
    double seconds = count > 2 ? atof(arguments[2]) : 1;
    remedy = count > 3 ? atoi(arguments[3]) : 0;
    pthread_t thread[256];
    if (threads < 1 || threads > 256) return 2;
    double began = now();
    for (long i = 0; i < threads; i++) pthread_create(&thread[i], 0, work, (void *)i);
    while (now() - began < seconds) nanosleep(&(struct timespec){0, 5000000}, 0);
    stop = 1;
    if (end) end();
    long all = 0;
    for (int i = 0; i < threads; i++) {
        void *done;
        pthread_join(thread[i], &done);
        all += (long)done;
    }
    printf("rate: %.0f op/s\n", all / (now() - began));
    return 0;
}
