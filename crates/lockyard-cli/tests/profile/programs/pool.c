// Thousands of locks of one call site, on a heap that grows, and some in memory of their own.
#include <pthread.h>
#include <stdlib.h>

enum { COUNT = 3000, LARGE = 10 };

static void take(pthread_mutex_t *mutex) {
    pthread_mutex_init(mutex, NULL);
    for (int i = 0; i < 3; i++) {
        pthread_mutex_lock(mutex);
        pthread_mutex_unlock(mutex);
    }
}

int main(void) {
    for (int i = 0; i < COUNT; i++) {
        pthread_mutex_t *mutex = malloc(i < LARGE ? 1 << 20 : 400);
        if (mutex) take(mutex);
    }
    return 0;
}
