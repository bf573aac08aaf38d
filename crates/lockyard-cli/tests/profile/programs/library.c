/* A library that is loaded while the program runs, and unloaded again. */
#include <pthread.h>

static pthread_mutex_t lock_in_library = PTHREAD_MUTEX_INITIALIZER;

void lock_of_library(int count) {
    for (int i = 0; i < count; i++) {
        pthread_mutex_lock(&lock_in_library);
        pthread_mutex_unlock(&lock_in_library);
    }
}
