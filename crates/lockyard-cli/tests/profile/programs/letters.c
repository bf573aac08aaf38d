/* Locks and functions whose names a demangler may take for types: m, a, b, l, c, St; w. */
#include <pthread.h>

#define LOCK static pthread_mutex_t
LOCK m = PTHREAD_MUTEX_INITIALIZER;
LOCK a = PTHREAD_MUTEX_INITIALIZER;
LOCK b = PTHREAD_MUTEX_INITIALIZER;
LOCK l = PTHREAD_MUTEX_INITIALIZER;
LOCK c = PTHREAD_MUTEX_INITIALIZER;
LOCK St = PTHREAD_MUTEX_INITIALIZER;

static void __attribute__((noinline)) w(pthread_mutex_t *lock)
{
    for (int turn = 0; turn < 100; turn++) {
        pthread_mutex_lock(lock);
        pthread_mutex_unlock(lock);
    }
    /* No jump instead of the last call. */
    __asm__ volatile("" ::: "memory");
}

int main(void)
{
    pthread_mutex_t *all[] = {&m, &a, &b, &l, &c, &St};
    for (int index = 0; index < 6; index++) w(all[index]);
    return 0;
}
