// A condition variable that is shared between processes, with a mutex that is not.
#include <pthread.h>
#include <stdio.h>

int main(void) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_condattr_t attribute;
    pthread_cond_t condition;
    pthread_condattr_init(&attribute);
    pthread_condattr_setpshared(&attribute, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&condition, &attribute);
    pthread_mutex_lock(&mutex);
    printf("%d\n", pthread_cond_wait(&condition, &mutex));
    printf("%d\n", pthread_cond_wait(&condition, &mutex));
    return 0;
}
