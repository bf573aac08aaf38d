/* Forks within calls of the C library that the recorder makes: as a signal handler does that comes
   there. With LIBRARY this is a library whose functions fork, and then call on. Without, it is the
   program. It takes a lock, also in each child, and prints the parent's acquisitions.

   FORK_IN: `try` or `unlock`. FORK_HOW: `bare`, without the handlers of a fork; or `limited`, with
   them, in a process that may open no more files. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef LIBRARY
#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { FORKS = 40 };

static int count, failed;

static void fork_in(const char *place) {
    const char *wanted = getenv("FORK_IN"), *how = getenv("FORK_HOW");
    if (count == FORKS || strcmp(place, wanted) != 0)
        return;
    count++;
    int is_bare = strcmp(how, "bare") == 0;
    struct rlimit none = {0, 0};
    if (!is_bare)
        setrlimit(RLIMIT_NOFILE, &none);
    pid_t child = is_bare ? (pid_t)syscall(SYS_fork) : fork();
    int status = 1;
    if (child == 0)
        count = FORKS;
    else if (waitpid(child, &status, 0) != child || status != 0)
        failed++;
}

int failed_children(void) {
    return failed;
}

int pthread_mutex_trylock(pthread_mutex_t *mutex) {
    static int (*next)(pthread_mutex_t *);
    if (next == NULL)
        next = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_trylock");
    int code = next(mutex);
    fork_in("try");
    return code;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex) {
    static int (*next)(pthread_mutex_t *);
    if (next == NULL)
        next = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_unlock");
    int code = next(mutex);
    fork_in("unlock");
    return code;
}
#else
extern int failed_children(void);

static pthread_mutex_t first_lock = PTHREAD_MUTEX_INITIALIZER;

int main(void) {
    pid_t parent = getpid();
    int number = 0;
    for (; number < 200; number++) {
        pthread_mutex_lock(&first_lock);
        pthread_mutex_unlock(&first_lock);
        if (getpid() != parent && number > 150)
            _exit(0);
    }
    printf("%d\n", number);
    return failed_children();
}
#endif
