/* Takes a lock ten times, under a name that the argument asks for:
   as NAME     executes itself, with NAME as its first argument
   child NAME  in the child of a thread of this name
   otherwise   as it is */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t first_lock = PTHREAD_MUTEX_INITIALIZER;

static void work(void)
{
    for (int turn = 0; turn < 10; turn++) {
        pthread_mutex_lock(&first_lock);
        pthread_mutex_unlock(&first_lock);
    }
}

static void *forks(void *name)
{
    pthread_setname_np(pthread_self(), name);
    pid_t child = fork();
    if (child == 0) {
        work();
        _exit(0);
    }
    waitpid(child, 0, 0);
    return 0;
}

int main(int count, char **arguments)
{
    if (count == 3 && strcmp(arguments[1], "as") == 0) {
        char *others[] = {arguments[2], 0};
        execv("/proc/self/exe", others);
        return 1;
    }
    if (count == 3 && strcmp(arguments[1], "child") == 0) {
        pthread_t thread;
        pthread_create(&thread, 0, forks, arguments[2]);
        pthread_join(thread, 0);
        return 0;
    }
    work();
    return 0;
}
