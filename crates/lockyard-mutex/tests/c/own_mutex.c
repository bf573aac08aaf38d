/* Threads that wait for ever for a mutex which they hold themselves, on a stack that is then used
   for other things, and for new mutexes. glibc survives that. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_barrier_t barrier;

static void *waits_for_itself(void *mutex)
{
    pthread_mutex_lock(mutex);
    pthread_barrier_wait(&barrier);
    pthread_mutex_lock(mutex);
    puts("it went on");
    return 0;
}

static void __attribute__((noinline)) leave_one(void)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_t thread;
    pthread_create(&thread, 0, waits_for_itself, &mutex);
    pthread_detach(thread);
    pthread_barrier_wait(&barrier);
    usleep(20000);
}

static void __attribute__((noinline)) overwrite(int byte)
{
    volatile char stack[4096];
    for (size_t i = 0; i < sizeof stack; i++) stack[i] = (char)byte;
}

struct sum {
    pthread_mutex_t mutex;
    int number;
};

static void *add(void *argument)
{
    struct sum *sum = argument;
    for (int i = 0; i < 500; i++) {
        pthread_mutex_lock(&sum->mutex);
        sum->number++;
        pthread_mutex_unlock(&sum->mutex);
    }
    return 0;
}

static int __attribute__((noinline)) use_others(void)
{
    struct sum sum = {PTHREAD_MUTEX_INITIALIZER, 0};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, add, &sum);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    return sum.number;
}

int main(void)
{
    int number = 0;
    alarm(60);
    pthread_barrier_init(&barrier, 0, 2);
    for (int i = 0; i < 10; i++) {
        leave_one();
        overwrite(i * 37 + 0xa5);
        number += use_others();
    }
    printf("%d\n", number);
    return 0;
}
