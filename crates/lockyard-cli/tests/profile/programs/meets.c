/* Threads that wait for each other: meets ROUNDS
 *
 * In each round, a producer puts a number into a bounded queue (a mutex and two conditions) and
 * gives a unit to a semaphore; a consumer takes both. Every 100 rounds both pass a barrier, and
 * yield once. At the end the main thread broadcasts once. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t units;
static long count, rounds;

static void meet(long round) {
    if (round % 100 != 99) return;
    sched_yield();
    pthread_barrier_wait(&barrier);
}

static void *produce(void *unused) {
    for (long round = 0; round < rounds; round++) {
        pthread_mutex_lock(&mutex);
        while (count == 8) pthread_cond_wait(&emptied, &mutex);
        count++;
        pthread_cond_signal(&filled);
        pthread_mutex_unlock(&mutex);
        sem_post(&units);
        meet(round);
    }
    return unused;
}

static void *consume(void *unused) {
    for (long round = 0; round < rounds; round++) {
        sem_wait(&units);
        pthread_mutex_lock(&mutex);
        while (count == 0) pthread_cond_wait(&filled, &mutex);
        count--;
        pthread_mutex_unlock(&mutex);
        pthread_cond_signal(&emptied);
        meet(round);
    }
    return unused;
}

int main(int argc, char **argv) {
    rounds = argc > 1 ? atol(argv[1]) : 1000;
    pthread_barrier_init(&barrier, 0, 2);
    sem_init(&units, 0, 0);
    pthread_t threads[2];
    pthread_create(&threads[0], 0, produce, 0);
    pthread_create(&threads[1], 0, consume, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    pthread_mutex_lock(&mutex);
    pthread_cond_broadcast(&filled);
    pthread_mutex_unlock(&mutex);
    return 0;
}
