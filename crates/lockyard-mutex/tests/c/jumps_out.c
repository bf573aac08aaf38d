/* A handler jumps out of a wait for a mutex. The mutex is lost then, but the thread goes on, and
   ends at another depth of its stack. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static __thread sigjmp_buf out;
static _Atomic int waits;

static void handler(int number)
{
    (void)number;
    siglongjmp(out, 1);
}

static void __attribute__((noinline)) end(long depth)
{
    volatile char room[200];
    room[0] = (char)depth;
    if (depth < 0) return;
    if (depth == 0) pthread_exit((void *)7);
    end(depth - 1);
    room[1] = room[0];
}

static void *work(void *depth)
{
    if (!sigsetjmp(out, 1)) {
        waits = 1;
        pthread_mutex_lock(&mutex);
    }
    end((long)depth);
    return 0;
}

int main(void)
{
    int ended = 0;
    alarm(60);
    signal(SIGUSR1, handler);
    pthread_mutex_lock(&mutex);
    for (long depth = 0; depth < 20; depth++) {
        pthread_t thread;
        void *result;
        waits = 0;
        pthread_create(&thread, 0, work, (void *)depth);
        while (!waits) usleep(100);
        usleep(3000);
        pthread_kill(thread, SIGUSR1);
        pthread_join(thread, &result);
        ended += result == (void *)7;
    }
    printf("%d\n", ended);
    return 0;
}
