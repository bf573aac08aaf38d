/* An LRU cache under one mutex. Remedy 1: a key is hashed before the mutex is taken, not under it.
 * From 2 on: as many shards, each with a mutex. */
#include "run.h"

enum { ENTRIES = 4096, MOST_SHARDS = 64 };

struct shard {
    pthread_mutex_t mutex;
    struct { int before, after; long uses; } entries[ENTRIES + 1];
} __attribute__((aligned(64)));

static struct shard lru[MOST_SHARDS];

static void touch(struct shard *of, int entry) {
    int before = of->entries[entry].before, after = of->entries[entry].after;
    of->entries[before].after = after, of->entries[after].before = before;
    int first = of->entries[ENTRIES].after;
    of->entries[entry].before = ENTRIES, of->entries[entry].after = first;
    of->entries[first].before = of->entries[ENTRIES].after = entry;
    of->entries[entry].uses++;
}

static void *work(void *number) {
    unsigned seed = 12345 + 77 * (unsigned)(long)number;
    long done = 0;
    for (; !stop; done++) {
        seed = seed * 1664525 + 1013904223;
        unsigned key = mix(seed, 150);
        struct shard *of = &lru[remedy > 1 ? key % remedy : 0];
        if (remedy == 1) key = mix(key, 60);
        pthread_mutex_lock(&of->mutex);
        if (remedy != 1) key = mix(key, 60);
        touch(of, key % ENTRIES);
        pthread_mutex_unlock(&of->mutex);
    }
    return (void *)done;
}

int main(int count, char **arguments) {
    for (int i = 0; i < MOST_SHARDS; i++) {
        pthread_mutex_init(&lru[i].mutex, 0);
        for (int j = 0; j <= ENTRIES; j++) {
            lru[i].entries[j].before = (j + ENTRIES) % (ENTRIES + 1);
            lru[i].entries[j].after = (j + 1) % (ENTRIES + 1);
        }
    }
    return run(count, arguments, work, 0);
}
