/* A library for `mapped`: its lock is NAME. */
#include <pthread.h>

pthread_mutex_t NAME = PTHREAD_MUTEX_INITIALIZER;

void w(void)
{
    for (int turn = 0; turn < 100; turn++) {
        pthread_mutex_lock(&NAME);
        pthread_mutex_unlock(&NAME);
    }
}
