/* Small programs of twelve kinds, each with pthreads only: what a recorder must not disturb.
 *
 *     cc -O2 -pthread kinds.c -o kinds
 *     ./kinds KIND THREADS SECONDS      prints: KIND THREADS operations-a-second
 *
 * map       one mutex over a hash map of 512 KiB: data comes along with the lock
 * lru       one mutex over a list; each operation moves an entry to the front: chained misses
 * log       one mutex; 64 bytes are appended to a ring: each hold dirties a fresh line
 * bank      64 locks; a transfer takes two of them, in order
 * pipeline  three stages with bounded queues between them: a mutex and two conditions each
 * pool      one queue of tasks with a condition; half of the tasks create another one
 * rwcache   a reader-writer lock; 95 % read four lines of a table, 5 % write them
 * stream    128 KiB of the thread's own memory are read between two short holds
 * server    a wait of 50 us (a request), then two short holds
 * leader    writers queue in user space; a leader does the work of all; others spin and yield
 * phases    a barrier every 64 operations; one mutex in between
 * falseshare counters of several threads in one line, outside of the lock
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static uint64_t next(uint64_t *s) {
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

/* About 1.5 ns a step. */
static uint64_t spin(uint64_t steps, uint64_t x) {
    for (uint64_t i = 0; i < steps; i++) x = x * 6364136223846793005u + 1442695040888963407u;
    return x;
}

static atomic_int stop;
static int threads;

struct worker {
    int id;
    uint64_t seed, operations, sink;
    char own[128];
} __attribute__((aligned(128)));

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* map */
static uint64_t map[65536];
static void do_map(struct worker *w) {
    uint64_t r = next(&w->seed);
    w->sink = spin(200, w->sink ^ r);
    pthread_mutex_lock(&mutex);
    map[r & 65535] += w->sink;
    map[(r >> 16) & 65535] ^= r;
    pthread_mutex_unlock(&mutex);
}

/* lru */
struct entry { struct entry *before, *after; uint64_t used; char rest[40]; };
static struct entry entries[4096], front;
static void do_lru(struct worker *w) {
    uint64_t r = next(&w->seed);
    w->sink = spin(800, w->sink ^ r);
    struct entry *e = &entries[r & 4095];
    pthread_mutex_lock(&mutex);
    e->before->after = e->after;
    e->after->before = e->before;
    e->after = front.after;
    e->before = &front;
    front.after->before = e;
    front.after = e;
    e->used++;
    pthread_mutex_unlock(&mutex);
}

/* log */
static uint64_t ring[1 << 16], place;
static void do_log(struct worker *w) {
    uint64_t r = next(&w->seed);
    w->sink = spin(300 + (r & 511), w->sink);
    pthread_mutex_lock(&mutex);
    uint64_t at = place;
    place = (place + 8) & 65535;
    for (int i = 0; i < 8; i++) ring[at + i] = w->sink + i;
    pthread_mutex_unlock(&mutex);
}

/* bank */
static struct {
    pthread_mutex_t lock;
    int64_t money;
} __attribute__((aligned(64))) account[64];
static void do_bank(struct worker *w) {
    uint64_t r = next(&w->seed);
    int a = r & 63, b = (r >> 8) & 63;
    if (a == b) b = (b + 1) & 63;
    if (a > b) { int c = a; a = b; b = c; }
    pthread_mutex_lock(&account[a].lock);
    pthread_mutex_lock(&account[b].lock);
    account[a].money--;
    account[b].money++;
    w->sink = spin(30, w->sink);
    pthread_mutex_unlock(&account[b].lock);
    pthread_mutex_unlock(&account[a].lock);
    w->sink = spin(250, w->sink ^ r);
}

/* pipeline: stage = id % 3 */
static struct queue {
    pthread_mutex_t lock;
    pthread_cond_t filled, emptied;
    uint64_t item[32];
    int first, count;
} queues[2];
static int put(struct queue *q, uint64_t item) {
    pthread_mutex_lock(&q->lock);
    while (q->count == 32 && !stop) pthread_cond_wait(&q->emptied, &q->lock);
    if (q->count < 32) q->item[(q->first + q->count++) & 31] = item;
    pthread_mutex_unlock(&q->lock);
    pthread_cond_signal(&q->filled);
    return !stop;
}
static uint64_t get(struct queue *q) {
    uint64_t item = 0;
    pthread_mutex_lock(&q->lock);
    while (q->count == 0 && !stop) pthread_cond_wait(&q->filled, &q->lock);
    if (q->count) item = q->item[q->first], q->first = (q->first + 1) & 31, q->count--;
    pthread_mutex_unlock(&q->lock);
    pthread_cond_signal(&q->emptied);
    return item;
}
static void do_pipeline(struct worker *w) {
    if (threads < 3) { /* one thread does all stages */
        put(&queues[0], spin(600, next(&w->seed)));
        put(&queues[1], spin(900, get(&queues[0])));
        w->sink ^= spin(300, get(&queues[1]));
        w->operations++;
        return;
    }
    switch (w->id % 3) {
    case 0: put(&queues[0], spin(600, next(&w->seed))); break;
    case 1: put(&queues[1], spin(900, get(&queues[0]))); break;
    default: w->sink ^= spin(300, get(&queues[1])); w->operations++;
    }
}

/* pool */
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static uint64_t todo = 64;
static void do_pool(struct worker *w) {
    uint64_t r = next(&w->seed);
    pthread_mutex_lock(&mutex);
    while (todo == 0 && !stop) pthread_cond_wait(&work, &mutex);
    if (todo) todo--;
    pthread_mutex_unlock(&mutex);
    w->sink = spin(400 + (r & 1023), w->sink);
    int more = (r >> 20 & 1) ? 2 : 0;
    pthread_mutex_lock(&mutex);
    if (todo < 16 && more == 0) more = 1;
    if (todo > 4096) more = 0;
    todo += more;
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < more; i++) pthread_cond_signal(&work);
}

/* rwcache */
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static uint64_t cached[8192];
static void do_rwcache(struct worker *w) {
    uint64_t r = next(&w->seed), at = r >> 20;
    if ((r & 1023) < 51) {
        pthread_rwlock_wrlock(&rw);
        for (int i = 0; i < 4; i++) cached[(at + i * 8) & 8191]++;
        pthread_rwlock_unlock(&rw);
    } else {
        pthread_rwlock_rdlock(&rw);
        for (int i = 0; i < 4; i++) w->sink += cached[(at + i * 8) & 8191];
        pthread_rwlock_unlock(&rw);
    }
    w->sink = spin(150, w->sink);
}

/* stream */
static uint64_t total;
static void do_stream(struct worker *w) {
    static _Thread_local uint64_t *mine;
    if (!mine) mine = calloc(1 << 20, 8);
    uint64_t at = (next(&w->seed) & 63) << 14, x = 0;
    for (int i = 0; i < 1 << 14; i += 8) x += mine[at + i]++;
    pthread_mutex_lock(&mutex);
    total += x;
    pthread_mutex_unlock(&mutex);
}

/* server */
static void do_server(struct worker *w) {
    struct timespec t = {0, 50000};
    nanosleep(&t, 0);
    pthread_mutex_lock(&mutex);
    w->sink = spin(100, w->sink);
    map[next(&w->seed) & 255]++;
    pthread_mutex_unlock(&mutex);
    w->sink = spin(1500, w->sink);
    pthread_mutex_lock(&mutex);
    w->sink = spin(60, w->sink);
    map[256 + (w->sink & 255)]++;
    pthread_mutex_unlock(&mutex);
}

/* leader */
struct waiting { struct waiting *before; atomic_int done; uint64_t what; };
static _Atomic(struct waiting *) newest;
static pthread_mutex_t commit = PTHREAD_MUTEX_INITIALIZER;
static void do_leader(struct worker *w) {
    struct waiting me = {0};
    w->sink = spin(900, w->sink);
    me.what = w->sink;
    struct waiting *before = atomic_load(&newest);
    do me.before = before;
    while (!atomic_compare_exchange_weak(&newest, &before, &me));
    if (before) {
        for (int i = 0; !atomic_load(&me.done); i++)
            if (i > 200) sched_yield();
        return;
    }
    pthread_mutex_lock(&commit);
    struct waiting *all = atomic_exchange(&newest, 0);
    uint64_t x = 0;
    while (all) {
        struct waiting *b = all->before;
        x = spin(200, x ^ all->what);
        if (all != &me) atomic_store(&all->done, 1);
        all = b;
    }
    total ^= x;
    pthread_mutex_unlock(&commit);
}

/* phases */
static pthread_barrier_t barrier;
static void do_phases(struct worker *w) {
    for (int i = 0; i < 64; i++) {
        uint64_t r = next(&w->seed);
        w->sink = spin(500 + (r & 255), w->sink);
        pthread_mutex_lock(&mutex);
        map[r & 63] += w->sink;
        pthread_mutex_unlock(&mutex);
    }
    w->operations += 63;
    pthread_barrier_wait(&barrier);
}

/* falseshare */
static atomic_ulong counts[256];
static void do_falseshare(struct worker *w) {
    for (int i = 0; i < 4; i++) {
        unsigned long count = atomic_load_explicit(&counts[w->id], memory_order_relaxed);
        atomic_store_explicit(&counts[w->id], count + 1, memory_order_relaxed);
        w->sink = spin(60, w->sink);
    }
    pthread_mutex_lock(&mutex);
    total += w->sink;
    pthread_mutex_unlock(&mutex);
    w->sink = spin(600, w->sink);
}

static const struct kind { const char *name; void (*run)(struct worker *); int counts; } kinds[] = {
    {"map", do_map, 1}, {"lru", do_lru, 1}, {"log", do_log, 1}, {"bank", do_bank, 1},
    {"pipeline", do_pipeline, 0}, {"pool", do_pool, 1},
    {"rwcache", do_rwcache, 1}, {"stream", do_stream, 1}, {"server", do_server, 1},
    {"leader", do_leader, 1}, {"phases", do_phases, 1}, {"falseshare", do_falseshare, 1},
};
static const struct kind *chosen;

static void *run(void *of) {
    struct worker *w = of;
    if (chosen->run == do_phases) { /* all stop at the same barrier */
        for (;;) {
            int end = stop;
            do_phases(w);
            w->operations++;
            static atomic_int ending;
            if (end) atomic_store(&ending, 1);
            pthread_barrier_wait(&barrier);
            int over = atomic_load(&ending);
            pthread_barrier_wait(&barrier);
            if (over) return 0;
        }
    }
    while (!stop) {
        chosen->run(w);
        w->operations += chosen->counts;
    }
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&queues[i].lock);
        pthread_cond_broadcast(&queues[i].filled);
        pthread_cond_broadcast(&queues[i].emptied);
        pthread_mutex_unlock(&queues[i].lock);
    }
    pthread_mutex_lock(&mutex);
    pthread_cond_broadcast(&work);
    pthread_mutex_unlock(&mutex);
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 4) return fprintf(stderr, "usage: kinds KIND THREADS SECONDS\n"), 2;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(argv[1], kinds[i].name)) chosen = &kinds[i];
    threads = atoi(argv[2]);
    double seconds = atof(argv[3]);
    if (!chosen || threads < 1 || threads > 256 || seconds <= 0)
        return fprintf(stderr, "kinds: wrong argument\n"), 2;
    front.before = front.after = &front;
    for (int i = 0; i < 4096; i++) {
        entries[i].after = front.after, entries[i].before = &front;
        front.after->before = &entries[i], front.after = &entries[i];
    }
    for (int i = 0; i < 64; i++) pthread_mutex_init(&account[i].lock, 0);
    for (int i = 0; i < 2; i++) {
        pthread_mutex_init(&queues[i].lock, 0);
        pthread_cond_init(&queues[i].filled, 0);
        pthread_cond_init(&queues[i].emptied, 0);
    }
    pthread_barrier_init(&barrier, 0, threads);
    struct worker *w = aligned_alloc(128, threads * sizeof *w);
    pthread_t thread[256];
    memset(w, 0, threads * sizeof *w);
    double begin = now();
    for (int i = 0; i < threads; i++) {
        w[i].id = i, w[i].seed = 88172645463325252u * (i + 1);
        pthread_create(&thread[i], 0, run, &w[i]);
    }
    struct timespec t = {(time_t)seconds, (seconds - (time_t)seconds) * 1e9};
    nanosleep(&t, 0);
    stop = 1;
    double end = now();
    uint64_t operations = 0;
    for (int i = 0; i < threads; i++) operations += w[i].operations;
    pthread_mutex_lock(&mutex);
    pthread_cond_broadcast(&work);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < threads; i++) pthread_join(thread[i], 0);
    printf("%s %d %.0f\n", chosen->name, threads, operations / (end - begin));
    return 0;
}
