// Handlers of a fork that are registered before all constructors, as those of a library may be:
// they lock a mutex that other threads wait for, and unlock it in the child.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int stop;

// Waiters come, and demand the mutex, while it is locked.
static void prepare(void) {
    pthread_mutex_lock(&mutex);
    usleep(20000);
}

static void done(void) { pthread_mutex_unlock(&mutex); }

static void first(void) { pthread_atfork(prepare, done, done); }

__attribute__((section(".preinit_array"), used)) static void (*const before_all)(void) = first;

static void *work(void *unused) {
    for (int ends = 0; !ends;) {
        pthread_mutex_lock(&mutex);
        ends = stop;
        pthread_mutex_unlock(&mutex);
    }
    return unused;
}

int main(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        if (pthread_create(&threads[i], NULL, work, NULL)) return 1;
    int failed = 0;
    for (int round = 0; round < 5; round++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            pthread_mutex_lock(&mutex);
            pthread_mutex_unlock(&mutex);
            _exit(0);
        }
        int status;
        if (waitpid(child, &status, 0) != child || status) failed++;
    }
    pthread_mutex_lock(&mutex);
    stop = 1;
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    printf("%d of 5 children failed\n", failed);
    return 0;
}
