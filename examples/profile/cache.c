/* A cache that stops scaling, for docs/use/profile-a-program.md:
 *     cc -O2 -g -pthread -o cache cache.c && lockyard profile -- ./cache
 * Each thread looks entries up. One look-up in 50 finds the cache full, and sweeps it while it
 * holds the lock. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, LOOKUPS = 100000, ENTRIES = 1 << 14 };

static struct {
    pthread_mutex_t table_lock;
    pthread_mutex_t count_lock;
} cache __attribute__((aligned(64))) = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

static long entries[ENTRIES], hits;

static void sweep(void) {
    for (int i = 0; i < ENTRIES; i++)
        entries[i] = entries[i] * 7 + 1;
}

static long look_up(unsigned key) {
    pthread_mutex_lock(&cache.table_lock);
    if (key % 50 == 0)
        sweep();
    long found = entries[key % ENTRIES];
    pthread_mutex_unlock(&cache.table_lock);
    return found;
}

static void count(void) {
    pthread_mutex_lock(&cache.count_lock);
    hits++;
    pthread_mutex_unlock(&cache.count_lock);
}

static void *work(void *seed) {
    unsigned key = (unsigned)(long)seed;
    for (int i = 0; i < LOOKUPS; i++) {
        key = key * 1664525u + 1013904223u;
        if (look_up(key >> 8) != 1)
            count();
    }
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%ld hits\n", hits);
    return 0;
}
