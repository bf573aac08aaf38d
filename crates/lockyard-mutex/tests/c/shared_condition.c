/* A condition variable that is shared between processes, with mutexes that are not, in one process:
   timeouts, hand-overs that must not be lost, cancellation, and a fork. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TURNS = 3000 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition;
static int turn, cleaned, waiting;

static void *take_turns(void *argument)
{
    int me = (int)(long)argument;
    for (int i = 0; i < TURNS; i++) {
        pthread_mutex_lock(&mutex);
        while (turn != me) pthread_cond_wait(&condition, &mutex);
        turn = !me;
        pthread_cond_signal(&condition);
        pthread_mutex_unlock(&mutex);
    }
    return 0;
}

static int hand_over(void)
{
    pthread_t threads[2];
    turn = 0;
    for (long i = 0; i < 2; i++)
        if (pthread_create(&threads[i], 0, take_turns, (void *)i)) return 1;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return turn;
}

static void clean(void *unused)
{
    (void)unused;
    cleaned += pthread_mutex_trylock(&mutex) == EBUSY && pthread_mutex_unlock(&mutex) == 0;
}

static void *waits(void *unused)
{
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(clean, 0);
    waiting = 1;
    for (;;) pthread_cond_wait(&condition, &mutex);
    pthread_cleanup_pop(0);
    return unused;
}

static int cancel(void)
{
    pthread_t thread;
    void *result;
    pthread_create(&thread, 0, waits, 0);
    for (int is_waiting = 0; !is_waiting;) {
        usleep(1000);
        pthread_mutex_lock(&mutex);
        is_waiting = waiting;
        pthread_mutex_unlock(&mutex);
    }
    pthread_cancel(thread);
    pthread_join(thread, &result);
    return result == PTHREAD_CANCELED;
}

int main(void)
{
    pthread_mutex_t checking;
    pthread_mutexattr_t type;
    pthread_condattr_t attribute;
    struct timespec until;
    int status = 1;
    alarm(60);
    pthread_mutexattr_init(&type);
    pthread_mutexattr_settype(&type, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&checking, &type);
    pthread_condattr_init(&attribute);
    pthread_condattr_setpshared(&attribute, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&condition, &attribute);
    clock_gettime(CLOCK_REALTIME, &until);
    printf("%d", pthread_cond_timedwait(&condition, &checking, &until) == EPERM);
    pthread_mutex_lock(&checking);
    printf(" %d", pthread_cond_timedwait(&condition, &checking, &until) == ETIMEDOUT);
    until.tv_nsec = 1000000000;
    printf(" %d", pthread_cond_timedwait(&condition, &checking, &until) == EINVAL);
    printf(" %d", pthread_mutex_unlock(&checking));
    printf(" %d", hand_over());
    int is_cancelled = cancel();
    printf(" %d %d", is_cancelled, cleaned);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) _exit(hand_over());
    waitpid(child, &status, 0);
    printf(" %d %d\n", status, pthread_cond_destroy(&condition));
    return 0;
}
