/* Two threads take turns by a condition variable. Compiled into a library without the C library,
   its references have no version, and mean the oldest one. With OLD they name that version. */
#include <pthread.h>

#ifdef OLD
__asm__(".symver pthread_cond_wait, pthread_cond_wait@GLIBC_2.2.5");
__asm__(".symver pthread_cond_signal, pthread_cond_signal@GLIBC_2.2.5");
#endif

static pthread_mutex_t turn_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static volatile int turn;

void turns(int me, int rounds) {
    for (int i = 0; i < rounds; i++) {
        pthread_mutex_lock(&turn_lock);
        while (turn != me)
            pthread_cond_wait(&condition, &turn_lock);
        turn = !me;
        pthread_cond_signal(&condition);
        pthread_mutex_unlock(&turn_lock);
    }
}
