// Threads that take a lock nearly all the time, beside one that takes none and sleeps nearly
// always.
// beside ends|stays SECONDS: the first ones end, or are there when the program ends.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 2 };

static pthread_mutex_t locks[THREADS] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static volatile int is_over;
static volatile unsigned long counts[THREADS][16];
static volatile unsigned long naps;

static void *work(void *mine) {
    long number = (long)mine;
    unsigned long x = 1;
    while (!is_over) {
        for (int step = 0; step < 300; step++)
            x = x * 6364136223846793005ul + 1442695040888963407ul;
        pthread_mutex_lock(&locks[number]);
        counts[number][0] += 1 + (x & 1);
        pthread_mutex_unlock(&locks[number]);
    }
    return NULL;
}

static void *nap(void *none) {
    (void)none;
    struct timespec shortly = {0, 100000};
    while (!is_over) {
        nanosleep(&shortly, NULL);
        naps++;
    }
    return NULL;
}

int main(int number, char **words) {
    int ends = number > 1 && strcmp(words[1], "ends") == 0;
    double seconds = number > 2 ? atof(words[2]) : 1;
    pthread_t threads[THREADS + 1];
    for (long thread = 0; thread < THREADS; thread++)
        pthread_create(&threads[thread], NULL, work, (void *)thread);
    pthread_create(&threads[THREADS], NULL, nap, NULL);
    usleep((useconds_t)(seconds * 1e6));
    if (ends) {
        is_over = 1;
        for (int thread = 0; thread <= THREADS; thread++)
            pthread_join(threads[thread], NULL);
    }
    printf("%lu\n", naps);
    return 0;
}
