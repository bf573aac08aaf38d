// The real-time clock is set, while a thread waits until a time on it. (The program has its own
// clock, because not every user may set the system's.) With an argument the clock stays, and the
// program prints the action of the thread's futex call: by it the kernel knows of the clock.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static time_t ahead;
static _Atomic int number;

int clock_gettime(clockid_t clock, struct timespec *time) {
    int code = (int)syscall(SYS_clock_gettime, clock, time);
    if (clock == CLOCK_REALTIME) time->tv_sec += __atomic_load_n(&ahead, __ATOMIC_RELAXED);
    return code;
}

static void *wait_an_hour(void *code) {
    struct timespec until;
    number = (int)syscall(SYS_gettid);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 3600;
    *(int *)code = pthread_mutex_timedlock(&mutex, &until);
    return NULL;
}

static int action(void) {
    char name[64];
    unsigned call = 0, action = 0;
    snprintf(name, sizeof name, "/proc/self/task/%d/syscall", number);
    FILE *file = fopen(name, "r");
    if (!file) return 1;
    if (fscanf(file, "%u %*s %x", &call, &action) != 2 || call != SYS_futex) return 2;
    printf("%#x\n", action);
    return fflush(stdout);
}

int main(int count, char **arguments) {
    int code = 0;
    pthread_t thread;
    alarm(100);
    pthread_mutex_lock(&mutex);
    if (pthread_create(&thread, NULL, wait_an_hour, &code)) return 1;
    usleep(100000);
    if (count > 1) _exit(arguments[1] == 0 || action());
    __atomic_store_n(&ahead, 7200, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    printf("%d\n", code);
    return 0;
}
