/* Handlers that interrupt a wait for a condition. One waits for a condition of its own, which POSIX
   does not promise: the outer wait keeps its deadline, and can be cancelled. Another runs while its
   thread is cancelled, and waits for the thread that cancels. Then 2,000 threads are cancelled in
   one wait. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { MANY = 2000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER, none = PTHREAD_COND_INITIALIZER;
static _Atomic int waiting, inside, cancelled;

static struct timespec in(long milliseconds)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_nsec += milliseconds * 1000000;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

static void waits_too(int signal)
{
    struct timespec until = in(5);
    pthread_mutex_lock(&other);
    pthread_cond_timedwait(&none, &other, &until);
    pthread_mutex_unlock(&other);
    inside = signal;
}

static void waits_for_the_caller(int signal)
{
    inside = signal;
    while (!cancelled) usleep(1000);
}

static void unlock(void *mutex) { pthread_mutex_unlock(mutex); }

static void *waits(void *milliseconds)
{
    int code = 0;
    struct timespec until = in((long)milliseconds);
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(unlock, &mutex);
    waiting++;
    while (code == 0)
        code = milliseconds ? pthread_cond_timedwait(&condition, &mutex, &until)
                            : pthread_cond_wait(&condition, &mutex);
    pthread_cleanup_pop(1);
    return (void *)(long)code;
}

/* Starts a thread that waits, and interrupts it by a handler. */
static pthread_t interrupted(void (*handler)(int), long milliseconds)
{
    pthread_t thread;
    waiting = inside = 0;
    signal(SIGUSR1, handler);
    pthread_create(&thread, 0, waits, (void *)milliseconds);
    while (!waiting) usleep(1000);
    usleep(20000);
    pthread_kill(thread, SIGUSR1);
    while (!inside) usleep(1000);
    return thread;
}

int main(void)
{
    static pthread_t threads[MANY];
    void *results[3], *result;
    pthread_attr_t small;
    int ended = 0;
    alarm(60);
    pthread_join(interrupted(waits_too, 300), &results[0]);
    for (int i = 0; i < 2; i++) {
        pthread_t thread = interrupted(i ? waits_for_the_caller : waits_too, 0);
        if (!i) usleep(20000);
        pthread_cancel(thread);
        cancelled = 1;
        pthread_join(thread, &results[1 + i]);
    }
    waiting = 0;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    for (int i = 0; i < MANY; i++) pthread_create(&threads[i], &small, waits, 0);
    while (waiting < MANY) usleep(1000);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < MANY; i++) pthread_cancel(threads[i]);
    for (int i = 0; i < MANY; i++) {
        pthread_join(threads[i], &result);
        ended += result == PTHREAD_CANCELED;
    }
    printf("%d %d %d %d\n", results[0] == (void *)ETIMEDOUT, results[1] == PTHREAD_CANCELED,
           results[2] == PTHREAD_CANCELED, ended);
    return 0;
}
