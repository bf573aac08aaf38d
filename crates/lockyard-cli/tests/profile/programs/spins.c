// A thread that holds a spinlock most of the time, and one that waits for it several times,
// spinning, and then sleeps. spins SECONDS. Prints the number of sleeps.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_spinlock_t taken;
static volatile int is_over;
static volatile unsigned long sleeps;

static long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000 + time.tv_nsec;
}

static void work(long nanoseconds) {
    for (long begin = now(); now() - begin < nanoseconds;)
        ;
}

static void *hold(void *none) {
    (void)none;
    while (!is_over) {
        pthread_spin_lock(&taken);
        work(25000);
        pthread_spin_unlock(&taken);
        work(4000);
    }
    return NULL;
}

static void *wait(void *none) {
    (void)none;
    struct timespec time = {0, 300000};
    while (!is_over) {
        for (int visit = 0; visit < 12; visit++) {
            pthread_spin_lock(&taken);
            pthread_spin_unlock(&taken);
            work(6000);
        }
        nanosleep(&time, NULL);
        sleeps++;
    }
    return NULL;
}

int main(int number, char **words) {
    double seconds = number > 1 ? atof(words[1]) : 1;
    pthread_spin_init(&taken, 0);
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, hold, NULL);
    pthread_create(&threads[1], NULL, wait, NULL);
    usleep((useconds_t)(seconds * 1e6));
    is_over = 1;
    for (int thread = 0; thread < 2; thread++)
        pthread_join(threads[thread], NULL);
    printf("%lu\n", sleeps);
    return 0;
}
