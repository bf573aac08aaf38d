/* Children of forks for which no handlers run: by a bare system call, and by `_Fork` where there is
   one. Threads of the parent wait for the mutexes that the forking thread holds, and for a
   condition. The child, and a child of it, release, acquire, wait and notify. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutexes[] = {
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
    PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
};
static pthread_mutex_t under = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int go;

static void *locks(void *lock)
{
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    return 0;
}

static void *waits(void *ignored)
{
    pthread_mutex_lock(&under);
    while (!go) pthread_cond_wait(&condition, &under);
    pthread_mutex_unlock(&under);
    return ignored;
}

static pid_t bare(void)
{
#ifdef __aarch64__
    return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#else
    return syscall(SYS_fork);
#endif
}

static int use(void)
{
    for (int round = 0; round < 100; round++)
        for (int i = 0; i < 3; i++)
            if (pthread_mutex_unlock(&mutexes[i]) || pthread_mutex_lock(&mutexes[i])) return 1;
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_nsec = soon.tv_nsec / 2;
    /* Waiters of the parent are not here, so the condition of glibc is not used. */
    if (getenv("LOCKYARD_LOCK")) {
        pthread_mutex_lock(&under);
        pthread_cond_broadcast(&condition);
        pthread_cond_timedwait(&condition, &under, &soon);
        pthread_mutex_unlock(&under);
    }
    return 0;
}

static int ends_well(pid_t child)
{
    int status = 1;
    return waitpid(child, &status, 0) == child && status == 0;
}

int main(void)
{
    pid_t (*fork_without)(void) = (pid_t(*)(void))dlsym(RTLD_DEFAULT, "_Fork");
    pid_t (*const forks[])(void) = {bare, fork_without ? fork_without : bare, fork};
    pthread_t threads[12];
    int good = 0;
    alarm(60);
    for (int i = 0; i < 3; i++) pthread_mutex_lock(&mutexes[i]);
    for (int i = 0; i < 9; i++) pthread_create(&threads[i], 0, locks, &mutexes[i % 3]);
    for (int i = 9; i < 12; i++) pthread_create(&threads[i], 0, waits, 0);
    usleep(100000);
    for (int how = 0; how < 3; how++) {
        pid_t child = forks[how]();
        if (child == 0) {
            alarm(20);
            if (use()) _exit(1);
            pid_t grandchild = forks[how]();
            if (grandchild == 0) _exit(use());
            _exit(!ends_well(grandchild) || use());
        }
        good += ends_well(child);
    }
    for (int i = 0; i < 3; i++) pthread_mutex_unlock(&mutexes[i]);
    pthread_mutex_lock(&under);
    go = 1;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&under);
    for (int i = 0; i < 12; i++) pthread_join(threads[i], 0);
    printf("%d\n", good);
    return 0;
}
