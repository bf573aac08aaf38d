/* Threads that wait once and end, more of them than a process has slots, in a program that makes
   thread-specific keys before all constructors of other libraries. A thread that waits afterwards
   must sleep, as the first did. Prints the number of keys that the program could make, and whether
   the last thread slept. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>
#include <unistd.h>
#include "asleep.h"

enum { EARLY = 40, AT_ONCE = 50, THREADS = 17000, LOOKS = 1000 };

static pthread_key_t early[EARLY];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int started, number;

static void make_keys(void)
{
    for (int i = 0; i < EARLY; i++) pthread_key_create(&early[i], 0);
}
__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = make_keys;

static void *locks(void *result)
{
    number = (int)syscall(SYS_gettid);
    started++;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return result;
}

/* Threads of C11 end without a word to anyone, and so does a destructor's wait. */
static void late(void *value) { locks(value); }

static int begin_c11(void *key)
{
    pthread_setspecific(*(pthread_key_t *)key, key);
    return 0;
}

int main(void)
{
    pthread_attr_t small;
    pthread_key_t key, more;
    int keys = EARLY + 1, asleep = 0;
    alarm(200);
    pthread_key_create(&key, late);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 32768);
    for (int begun = 0; begun < THREADS; begun += AT_ONCE) {
        pthread_t threads[AT_ONCE];
        thrd_t late_one;
        started = 0;
        pthread_mutex_lock(&mutex);
        for (int i = 1; i < AT_ONCE; i++)
            if (pthread_create(&threads[i], &small, locks, 0)) abort();
        if (thrd_create(&late_one, begin_c11, &key) != thrd_success) abort();
        while (started < AT_ONCE) usleep(50);
        usleep(2000);
        pthread_mutex_unlock(&mutex);
        for (int i = 1; i < AT_ONCE; i++) pthread_join(threads[i], 0);
        thrd_join(late_one, 0);
    }
    pthread_t last;
    pthread_mutex_lock(&mutex);
    started = 0;
    pthread_create(&last, 0, locks, 0);
    while (!started) usleep(50);
    usleep(20000);
    for (int look = 0; look < LOOKS; look++) {
        asleep += is_asleep(number);
        usleep(1000);
    }
    pthread_mutex_unlock(&mutex);
    pthread_join(last, 0);
    while (!pthread_key_create(&more, 0)) keys++;
    printf("%d keys, %s\n", keys, asleep > LOOKS * 9 / 10 ? "sleeps" : "does not sleep");
    return 0;
}
