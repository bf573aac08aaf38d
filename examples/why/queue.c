/* A queue with a mutex and two conditions, a producer and THREADS consumers. Remedy N: N items are
 * put and taken at a time. */
#include "run.h"

enum { ROOM = 256, MOST = 64 };

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t filled, emptied;
    unsigned items[ROOM];
    int first, count;
} queue = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, {0}, 0, 0};

static int batch(void) { return remedy > 1 && remedy <= MOST ? remedy : 1; }

static int take(unsigned *items) {
    pthread_mutex_lock(&queue.mutex);
    while (queue.count == 0 && !stop) pthread_cond_wait(&queue.filled, &queue.mutex);
    int taken = queue.count < batch() ? queue.count : batch();
    for (int i = 0; i < taken; i++) items[i] = queue.items[(queue.first + i) % ROOM];
    queue.first = (queue.first + taken) % ROOM;
    queue.count -= taken;
    if (taken) pthread_cond_signal(&queue.emptied);
    pthread_mutex_unlock(&queue.mutex);
    return taken;
}

static void put(const unsigned *items, int count) {
    pthread_mutex_lock(&queue.mutex);
    while (queue.count + count > ROOM && !stop) pthread_cond_wait(&queue.emptied, &queue.mutex);
    if (!stop)
        for (int i = 0; i < count; i++)
            queue.items[(queue.first + queue.count++) % ROOM] = items[i];
    pthread_cond_signal(&queue.filled);
    pthread_mutex_unlock(&queue.mutex);
}

static void *produce(void *unused) {
    unsigned seed = 1, items[MOST];
    while (!stop) {
        for (int i = 0; i < batch(); i++) items[i] = seed = mix(seed + 1, 60);
        put(items, batch());
    }
    return unused;
}

static void *consume(void *unused) {
    unsigned items[MOST], sum = 0;
    long done = 0;
    for (int taken; (taken = take(items)) > 0; done += taken)
        for (int i = 0; i < taken; i++) sum += mix(items[i], 200);
    *(volatile unsigned *)&sum = sum;
    return (void)unused, (void *)done;
}

static void wake_all(void) {
    pthread_mutex_lock(&queue.mutex);
    pthread_cond_broadcast(&queue.filled);
    pthread_cond_broadcast(&queue.emptied);
    pthread_mutex_unlock(&queue.mutex);
}

int main(int count, char **arguments) {
    pthread_t producer;
    remedy = count > 3 ? atoi(arguments[3]) : 0;
    pthread_create(&producer, 0, produce, 0);
    int code = run(count, arguments, consume, wake_all);
    pthread_join(producer, 0);
    return code;
}
