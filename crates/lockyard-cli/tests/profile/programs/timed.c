/* Waits that end by time, and signals without locks: timed WAITS UNITS
 *
 * A thread waits for a condition WAITS times, until now: nobody signals it. Then it gives UNITS units to
 * semaphores, with a section of the mutex before every 500,000. The program prints the number of
 * waits whose time was over. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t units;
static long waits, gives, over;

static void *work(void *unused) {
    for (long wait = 0; wait < waits; wait++) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        pthread_mutex_lock(&mutex);
        over += pthread_cond_timedwait(&never, &mutex, &until) == ETIMEDOUT;
        pthread_mutex_unlock(&mutex);
    }
    for (long unit = 0; unit < gives; unit++) {
        if (unit % 500000 == 0) {
            pthread_mutex_lock(&mutex);
            pthread_mutex_unlock(&mutex);
        }
        sem_post(&units);
    }
    return unused;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    waits = atol(argv[1]);
    gives = atol(argv[2]);
    sem_init(&units, 0, 0);
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    pthread_join(thread, 0);
    printf("%ld\n", over);
    return 0;
}
