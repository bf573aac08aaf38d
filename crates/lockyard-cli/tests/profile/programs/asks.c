/* A program whose library asks the loader for functions. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t of_program = PTHREAD_MUTEX_INITIALIZER;

void locks_of_library(int count);

typedef int (*of_mutex)(pthread_mutex_t *);

int main(void) {
    of_mutex lock = (of_mutex)dlsym(RTLD_NEXT, "pthread_mutex_lock");
    of_mutex unlock = (of_mutex)dlsym(RTLD_NEXT, "pthread_mutex_unlock");
    if (lock == NULL || unlock == NULL)
        abort();
    for (int i = 0; i < 5; i++) {
        lock(&of_program);
        unlock(&of_program);
    }
    locks_of_library(7);
    return 0;
}
