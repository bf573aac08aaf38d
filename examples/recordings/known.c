/* A program whose locks and times are known: threads that work, take a mutex, work under it, and
 * release it. It checks what `lockyard record` finds.
 *
 *   cc -O2 -pthread known.c -o known
 *   known THREADS SECONDS HELD_NS THINK_NS [LOCKS [SPREAD [SLEEP_US]]]
 *
 * LOCKS: each visit takes one of this many mutexes in turn (1). SPREAD: 1 draws the times from an
 * exponential distribution (0). SLEEP_US: one visit in 64 sleeps before it (0). A line says how
 * long both works are alone, and the last one how many visits a second there were. */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct place {
    pthread_mutex_t lock;
    long value;
} __attribute__((aligned(128)));

static struct place places[64];
static double held, think, per_turn;
static int locks = 1, spread, sleep_us;
static atomic_int stop;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

/* Work in registers: a chain of multiplications. */
static uint64_t turns(uint64_t x, long count) {
    for (long i = 0; i < count; i++)
        __asm__ volatile("imul %0, %0" : "+r"(x));
    return x;
}

static uint64_t next(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static uint64_t work(uint64_t x, double ns, uint64_t *state) {
    if (spread) {
        double uniform = ((next(state) >> 11) + 1) / 9007199254740993.0;
        ns *= -log(uniform);
    }
    return turns(x, (long)(ns / per_turn + 0.5));
}

static void *run(void *argument) {
    uint64_t state = 88172645463325252ull + (uintptr_t)argument * 977, x = 3;
    long visits = 0;
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        if (sleep_us && next(&state) % 64 == 0)
            usleep(sleep_us);
        x = work(x, think, &state);
        struct place *place = &places[visits % locks];
        pthread_mutex_lock(&place->lock);
        place->value++;
        x = work(x, held, &state);
        pthread_mutex_unlock(&place->lock);
        visits++;
    }
    static atomic_ulong sink;
    atomic_fetch_add(&sink, x);
    return (void *)visits;
}

int main(int count, char **words) {
    if (count < 5) {
        fprintf(stderr, "known THREADS SECONDS HELD_NS THINK_NS [LOCKS [SPREAD [SLEEP_US]]]\n");
        return 2;
    }
    int threads = atoi(words[1]);
    double seconds = atof(words[2]);
    held = atof(words[3]);
    think = atof(words[4]);
    if (count > 5) locks = atoi(words[5]);
    if (count > 6) spread = atoi(words[6]);
    if (count > 7) sleep_us = atoi(words[7]);
    if (threads < 1 || threads > 64 || locks < 1 || locks > 64) return 2;
    per_turn = 1e9;
    for (int round = 0; round < 50; round++) {
        double begin = now();
        volatile uint64_t x = turns(3, 100000);
        (void)x;
        double each = (now() - begin) / 100000;
        if (each < per_turn) per_turn = each;
    }
    for (int i = 0; i < locks; i++)
        pthread_mutex_init(&places[i].lock, NULL);
    double alone[2];
    for (int of = 0; of < 2; of++) {
        uint64_t state = 99, x = 3;
        double first = now();
        for (int i = 0; i < 20000; i++) x = work(x, of ? think : held, &state);
        alone[of] = (now() - first) / 20000;
        volatile uint64_t sink = x;
        (void)sink;
    }
    printf("alone: %.1f ns held, %.1f ns outside\n", alone[0], alone[1]);
    pthread_t ids[64];
    double begin = now();
    for (long i = 0; i < threads; i++)
        pthread_create(&ids[i], NULL, run, (void *)i);
    usleep((useconds_t)(seconds * 1e6));
    atomic_store(&stop, 1);
    long visits = 0;
    for (int i = 0; i < threads; i++) {
        void *result;
        pthread_join(ids[i], &result);
        visits += (long)result;
    }
    printf("%.0f visits/s\n", visits / (now() - begin) * 1e9);
    return 0;
}
