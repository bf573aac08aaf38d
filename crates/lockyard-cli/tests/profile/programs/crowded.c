// A thread on a busy CPU: 300 steps of work for each lock, beside children that spin on the same
// CPU. crowded CHILDREN SECONDS
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t taken = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned long count;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

int main(int number, char **words) {
    int children = number > 1 ? atoi(words[1]) : 0;
    double seconds = number > 2 ? atof(words[2]) : 1;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    pid_t spinning[64];
    for (int child = 0; child < children; child++) {
        spinning[child] = fork();
        if (spinning[child] == 0) {
            for (;;)
                ;
        }
    }
    unsigned long x = 1;
    double begin = now();
    while (now() - begin < seconds) {
        for (int visit = 0; visit < 100; visit++) {
            for (int step = 0; step < 300; step++)
                x = x * 6364136223846793005ul + 1442695040888963407ul;
            pthread_mutex_lock(&taken);
            count += x & 1;
            pthread_mutex_unlock(&taken);
        }
    }
    for (int child = 0; child < children; child++) {
        kill(spinning[child], SIGKILL);
        waitpid(spinning[child], NULL, 0);
    }
    return 0;
}
