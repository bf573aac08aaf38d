/* A map with 64 stripes, each with a mutex. Half of the operations are on one key: its stripe is
 * hot. Remedy N: that key has N copies, in stripes of their own. */
#include "run.h"

enum { STRIPES = 64, SLOTS = 120 };

static struct {
    pthread_mutex_t mutex;
    long slots[SLOTS];
} __attribute__((aligned(64))) stripes[STRIPES];

static void *work(void *number) {
    unsigned seed = 1 + 99 * (unsigned)(long)number;
    long done = 0;
    for (; !stop; done++) {
        seed = mix(seed + 7, 60);
        int stripe = seed >> 8 & (STRIPES - 1);
        if (seed & 1) stripe = remedy > 1 ? stripe % remedy : 0;
        pthread_mutex_lock(&stripes[stripe].mutex);
        for (int i = 0; i < 24; i++) stripes[stripe].slots[(seed + i * 13) % SLOTS] += i;
        pthread_mutex_unlock(&stripes[stripe].mutex);
    }
    return (void *)done;
}

int main(int count, char **arguments) {
    for (int i = 0; i < STRIPES; i++) pthread_mutex_init(&stripes[i].mutex, 0);
    return run(count, arguments, work, 0);
}
