/* A library that asks the loader for the functions with which it locks. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t by_default = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t by_handle = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t by_next = PTHREAD_MUTEX_INITIALIZER;

typedef int (*of_mutex)(pthread_mutex_t *);

static void times(void *handle, pthread_mutex_t *mutex, int count) {
    of_mutex lock = (of_mutex)dlsym(handle, "pthread_mutex_lock");
    of_mutex unlock = (of_mutex)dlsym(handle, "pthread_mutex_unlock");
    if (lock == NULL || unlock == NULL)
        abort();
    for (int i = 0; i < count; i++) {
        lock(mutex);
        unlock(mutex);
    }
}

void locks_of_library(int count) {
    times(RTLD_DEFAULT, &by_default, count);
    times(dlopen(NULL, RTLD_NOW), &by_handle, count);
    times(RTLD_NEXT, &by_next, count);
}
