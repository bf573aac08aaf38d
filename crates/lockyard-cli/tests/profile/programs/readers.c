/* Readers and writers of one lock, whose calls, waits and times are known. The first argument
 * selects what they do, the second one how often. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_rwlock_t both = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t shards[8];
static volatile long begun;
static long repeats;

static void check(int code) {
    if (code != 0) {
        fprintf(stderr, "failed: %s\n", strerror(code));
        exit(99);
    }
}

static void is(int code, int wanted) {
    if (code != wanted)
        exit(98);
}

/* Each function of the lock: 4 reads, 4 writes, 1 nested read, 4 calls that give up. */
static void calls(void) {
    struct timespec late, late_by_clock, soon = {0, 0};
    clock_gettime(CLOCK_REALTIME, &late);
    clock_gettime(CLOCK_MONOTONIC, &late_by_clock);
    late.tv_sec += 600;
    late_by_clock.tv_sec += 600;
    for (long i = 0; i < repeats; i++) {
        check(pthread_rwlock_rdlock(&both));
        check(pthread_rwlock_rdlock(&both));
        is(pthread_rwlock_trywrlock(&both), EBUSY);
        check(pthread_rwlock_unlock(&both));
        check(pthread_rwlock_unlock(&both));
        check(pthread_rwlock_tryrdlock(&both));
        check(pthread_rwlock_unlock(&both));
        check(pthread_rwlock_timedrdlock(&both, &late));
        is(pthread_rwlock_timedwrlock(&both, &soon), ETIMEDOUT);
        check(pthread_rwlock_unlock(&both));
        check(pthread_rwlock_clockrdlock(&both, CLOCK_MONOTONIC, &late_by_clock));
        check(pthread_rwlock_unlock(&both));
        check(pthread_rwlock_wrlock(&both));
        is(pthread_rwlock_tryrdlock(&both), EBUSY);
        is(pthread_rwlock_rdlock(&both), EDEADLK);
        check(pthread_rwlock_unlock(&both));
        check(pthread_rwlock_trywrlock(&both));
        check(pthread_rwlock_unlock(&both));
        check(pthread_rwlock_timedwrlock(&both, &late));
        check(pthread_rwlock_unlock(&both));
        check(pthread_rwlock_clockwrlock(&both, CLOCK_MONOTONIC, &late_by_clock));
        check(pthread_rwlock_unlock(&both));
    }
}

static double cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

/* Works for a time on a CPU. Returns the time. */
static double work(double ns) {
    double begin = cpu_ns(), now;
    do
        now = cpu_ns();
    while (now - begin < ns);
    return now - begin;
}

/* Reads of 100 us, and a write of 50 us after every fourth one; 20 us between two of them. */
static void *holds(void *unused) {
    (void)unused;
    double read = 0, written = 0;
    for (long i = 0; i < repeats; i++) {
        check(pthread_rwlock_rdlock(&both));
        read += work(100000);
        check(pthread_rwlock_unlock(&both));
        work(20000);
        if (i % 4)
            continue;
        check(pthread_rwlock_wrlock(&both));
        written += work(50000);
        check(pthread_rwlock_unlock(&both));
        work(20000);
    }
    printf("%.0f %.0f\n", read / repeats, written / ((repeats + 3) / 4));
    return NULL;
}

/* Reads of short loops in several threads, a write after every twentieth. */
static void *reads(void *number) {
    volatile long sum = (long)number;
    for (long i = 0; i < repeats; i++) {
        int writes = i % 20 == 19;
        check(writes ? pthread_rwlock_wrlock(&both) : pthread_rwlock_rdlock(&both));
        for (int j = 0; j < 40; j++)
            sum += j;
        check(pthread_rwlock_unlock(&both));
        for (int j = 0; j < 400; j++)
            sum += j;
    }
    return NULL;
}

static void *shards_in_turn(void *unused) {
    (void)unused;
    for (long i = 0; i < repeats; i++) {
        pthread_rwlock_t *shard = &shards[i % 8];
        check(i % 16 < 2 ? pthread_rwlock_wrlock(shard) : pthread_rwlock_rdlock(shard));
        check(pthread_rwlock_unlock(shard));
    }
    return NULL;
}

/* Says that it comes, and waits for the lock that the other thread holds. */
static void *waits(void *writes) {
    for (long i = 0; i < repeats; i++) {
        while (begun != 3 * i)
            usleep(100);
        begun++;
        check(writes ? pthread_rwlock_wrlock(&both) : pthread_rwlock_rdlock(&both));
        check(pthread_rwlock_unlock(&both));
        begun++;
    }
    return NULL;
}

/* A reader waits for a writer, or a writer for a reader, 5 ms each time and longer. */
static void makes_wait(long writes) {
    pthread_t thread;
    begun = -1;
    check(pthread_create(&thread, NULL, waits, (void *)writes));
    for (long i = 0; i < repeats; i++) {
        check(writes ? pthread_rwlock_rdlock(&both) : pthread_rwlock_wrlock(&both));
        begun = 3 * i;
        while (begun == 3 * i)
            usleep(100);
        usleep(5000);
        check(pthread_rwlock_unlock(&both));
        while (begun != 3 * i + 2)
            usleep(100);
    }
    check(pthread_join(thread, NULL));
}

static void in_threads(long count, void *(*work)(void *)) {
    pthread_t threads[16];
    for (long i = 0; i < count; i++)
        check(pthread_create(&threads[i], NULL, work, (void *)i));
    for (long i = 0; i < count; i++)
        check(pthread_join(threads[i], NULL));
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "";
    repeats = argc > 2 ? atol(argv[2]) : 1;
    alarm(600);
    for (int i = 0; i < 8; i++)
        check(pthread_rwlock_init(&shards[i], NULL));
    if (!strcmp(name, "calls"))
        calls();
    else if (!strcmp(name, "holds"))
        holds(NULL);
    else if (!strcmp(name, "reads"))
        in_threads(argc > 3 ? atol(argv[3]) : 1, reads);
    else if (!strcmp(name, "shards"))
        in_threads(2, shards_in_turn);
    else if (!strcmp(name, "waits")) {
        makes_wait(0);
        makes_wait(1);
    } else
        return 97;
    return 0;
}
