/* What a default pthread_rwlock_t does when it is left beside waiters, seen from outside: a thread
 * lets others fall asleep, leaves, and tries the lock at once. Those that come in stay inside until
 * it has tried.
 *
 *     cc -O2 -pthread observe.c -o observe && ./observe
 *
 * A lock that cannot be taken, while no other thread has come in, has been handed to one that is
 * not awake yet. docs/evidence/readers.md has the output; the kind `pthread-rwlock` takes from it
 * its hand-over. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { ROUNDS = 200, ASLEEP_US = 3000, MOST = 4 };

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static atomic_int inside, tried;
static int reads_again;

static void *stays(void *unused) {
    atomic_fetch_add(&inside, 1);
    while (!tried) usleep(50);
    pthread_rwlock_unlock(&lock);
    return unused;
}

static void *writes(void *unused) {
    pthread_rwlock_wrlock(&lock);
    return stays(unused);
}

static void *reads(void *unused) {
    pthread_rwlock_rdlock(&lock);
    return stays(unused);
}

/* One round. Returns 0 if the lock could be taken; if not, 1 if nobody had come in, else 2. */
static int round_of(int writer, int writers, int readers, int to_read) {
    pthread_t threads[MOST];
    int count = 0;
    inside = tried = 0;
    if (writer) pthread_rwlock_wrlock(&lock);
    else pthread_rwlock_rdlock(&lock);
    for (int i = 0; i < writers; i++) pthread_create(&threads[count++], 0, writes, 0);
    for (int i = 0; i < readers; i++) pthread_create(&threads[count++], 0, reads, 0);
    usleep(ASLEEP_US);
    pthread_rwlock_unlock(&lock);
    if (reads_again && !pthread_rwlock_tryrdlock(&lock)) pthread_rwlock_unlock(&lock);
    int failed = to_read ? pthread_rwlock_tryrdlock(&lock) : pthread_rwlock_trywrlock(&lock);
    int taken = !failed;
    int found = taken ? 0 : inside ? 2 : 1;
    if (taken) pthread_rwlock_unlock(&lock);
    tried = 1;
    while (count) pthread_join(threads[--count], 0);
    return found;
}

static void leave(const char *name, int writer, int writers, int readers) {
    int found[2][3] = {{0}};
    for (int round = 0; round < 2 * ROUNDS; round++) {
        int to_read = round % 2;
        found[to_read][round_of(writer, writers, readers, to_read)]++;
    }
    printf("%-45s", name);
    for (int to_read = 1; to_read >= 0; to_read--)
        printf(" %5d %5d %5d", found[to_read][0], found[to_read][1], found[to_read][2]);
    printf("\n");
}

int main(void) {
    printf("%-45s to read             to write\n", "");
    printf("%-45s taken  held awake taken  held awake\n", "");
    leave("a reader leaves, a writer sleeps", 0, 1, 0);
    leave("a reader leaves, two writers sleep", 0, 2, 0);
    leave("a writer leaves, a writer sleeps", 1, 1, 0);
    leave("a writer leaves, two writers sleep", 1, 2, 0);
    leave("a writer leaves, a reader sleeps", 1, 0, 1);
    leave("a writer leaves, a reader and a writer sleep", 1, 1, 1);
    reads_again = 1;
    leave("a writer leaves, reads; a writer sleeps", 1, 1, 0);
    leave("a writer leaves, reads; two writers sleep", 1, 2, 0);
    pthread_t waits;
    inside = tried = 0;
    pthread_rwlock_rdlock(&lock);
    pthread_create(&waits, 0, writes, 0);
    usleep(ASLEEP_US);
    int taken = pthread_rwlock_tryrdlock(&lock) == 0;
    printf("%-45s %5d\n", "a reader is inside, a writer sleeps", taken);
    if (taken) pthread_rwlock_unlock(&lock);
    tried = 1;
    pthread_rwlock_unlock(&lock);
    pthread_join(waits, 0);
}
