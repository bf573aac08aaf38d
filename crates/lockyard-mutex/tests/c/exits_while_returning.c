/* A handler ends threads by `pthread_exit` while they acquire their mutex again at the end of a
   wait for a condition. Each has the mutex when its cleanup handlers run, and the mutex works
   afterwards. A thread that still spins would stay in the queue, so all of them must sleep. Then a
   wait that fails at once keeps the type of the thread's cancellation. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "asleep.h"

enum { THREADS = 4, ROUNDS = 10 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER, shared;
static int cleaned;
static _Atomic int ready, numbers[THREADS];

static void handler(int signal) { pthread_exit((void *)(long)signal); }

static void clean(void *nothing)
{
    cleaned += nothing == 0;
    pthread_mutex_unlock(&mutex);
}

static void *waits(void *nothing)
{
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(clean, nothing);
    numbers[ready] = syscall(SYS_gettid);
    ready++;
    pthread_cond_wait(&condition, &mutex);
    pthread_cleanup_pop(1);
    return 0;
}

static void *fails(void *condition)
{
    int type = PTHREAD_CANCEL_DEFERRED;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, 0);
    int failed = pthread_cond_wait(condition, &checking);
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
    return (void *)(long)(failed == EPERM && type == PTHREAD_CANCEL_ASYNCHRONOUS);
}

int main(void)
{
    pthread_t threads[THREADS];
    int ended = 0;
    void *result[2];
    alarm(60);
    signal(SIGUSR1, handler);
    for (int round = 0; round < ROUNDS; round++) {
        ready = 0;
        for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], 0, waits, 0);
        while (ready < THREADS) usleep(100);
        pthread_mutex_lock(&mutex);
        pthread_cond_broadcast(&condition);
        for (int i = 0; i < THREADS; i++) await_sleep(numbers[i]);
        for (int i = 0; i < THREADS; i++) {
            await_sleep(numbers[i]);
            pthread_kill(threads[i], SIGUSR1);
        }
        usleep(5000);
        pthread_mutex_unlock(&mutex);
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], result);
            ended += result[0] == (void *)SIGUSR1;
        }
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
    pthread_condattr_t attribute;
    pthread_condattr_init(&attribute);
    pthread_condattr_setpshared(&attribute, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&shared, &attribute);
    for (int i = 0; i < 2; i++) {
        pthread_create(&threads[i], 0, fails, i ? &condition : &shared);
        pthread_join(threads[i], &result[i]);
    }
    printf("%d %d %ld %ld\n", ended, cleaned, (long)result[0], (long)result[1]);
    return 0;
}
