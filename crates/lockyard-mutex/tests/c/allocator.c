// An allocator that locks a mutex, as jemalloc does, and a constructor that locks before `main`. The
// search for the C library's functions and the start of a thread may allocate.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t counting = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static _Alignas(16) char room[64 << 20];
static size_t used;
static long allocations, counted;

void *malloc(size_t size) {
    pthread_mutex_lock(&lock);
    size_t *at = (size_t *)(room + used);
    size_t bytes = (size + 16 + 15) & ~(size_t)15;
    int fits = bytes > size && bytes <= sizeof room - used;
    if (fits) {
        used += bytes;
        *at = size;
        allocations++;
    }
    pthread_mutex_unlock(&lock);
    return fits ? (char *)at + 16 : NULL;
}

// Memory is not used again, so it is zero.
void *calloc(size_t count, size_t size) {
    return size && count > SIZE_MAX / size ? NULL : malloc(count * size);
}

void free(void *at) {
    if (at) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
}

void *realloc(void *old, size_t size) {
    void *new = malloc(size);
    if (new && old) {
        size_t before = *(size_t *)((char *)old - 16);
        memcpy(new, old, before < size ? before : size);
        free(old);
    }
    return new;
}

__attribute__((constructor)) static void early(void) {
    pthread_mutex_lock(&counting);
    counted++;
    free(malloc(10));
    pthread_mutex_unlock(&counting);
}

static void *work(void *unused) {
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&counting);
        free(malloc(100));
        counted++;
        pthread_mutex_unlock(&counting);
        free(malloc(50));
    }
    return unused;
}

int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        if (pthread_create(&threads[i], NULL, work, NULL)) return 1;
    }
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    printf("%ld %d\n", counted, allocations >= 8001);
    return 0;
}
