// Cancellation with the macros for cleanup handlers, and mixed kinds of objects.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MUST(call, code)                                                                           \
    do {                                                                                           \
        int got = (call);                                                                          \
        if (got != (code)) {                                                                       \
            fprintf(stderr, "%d: %s: %d\n", __LINE__, #call, got);                                 \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int waits, cleaned;

static void clean(void *unused) {
    (void)unused;
    cleaned++;
    MUST(pthread_mutex_unlock(&mutex), 0);
}

static void *waiter(void *unused) {
    (void)unused;
    MUST(pthread_mutex_lock(&mutex), 0);
    pthread_cleanup_push(clean, NULL);
    waits = 1;
    for (;;)
        MUST(pthread_cond_wait(&condition, &mutex), 0);
    pthread_cleanup_pop(0);
    return NULL;
}

int main(void) {
    pthread_t thread;
    void *result;
    for (int round = 1; round <= 100; round++) {
        MUST(pthread_create(&thread, NULL, waiter, NULL), 0);
        for (int is_waiting = 0; !is_waiting;) {
            MUST(pthread_mutex_lock(&mutex), 0);
            is_waiting = waits;
            waits = 0;
            MUST(pthread_mutex_unlock(&mutex), 0);
        }
        MUST(pthread_cancel(thread), 0);
        MUST(pthread_join(thread, &result), 0);
        if (result != PTHREAD_CANCELED || cleaned != round)
            return 1;
    }
    puts("cancelled");
    return 0;
}
