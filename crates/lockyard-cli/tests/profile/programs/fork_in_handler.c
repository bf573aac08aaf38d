/* A signal handler forks at any place of the recorder. The child returns from the handler, goes on
   with what was interrupted, takes a lock 100 times and ends. Prints the parent's acquisitions. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t first_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile sig_atomic_t wanted = 1, forks, failed, is_child;

static void interval(int microseconds) {
    struct itimerval every = {{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_REAL, &every, NULL);
}

static void handler(int signal_number) {
    if (forks == wanted)
        return;
    pid_t child = fork();
    if (child == 0) {
        is_child = 1;
        interval(0);
        signal(signal_number, SIG_DFL);
        alarm(60); /* a deadlock ends, and is noticed */
        return;
    }
    int status = 1;
    if (waitpid(child, &status, 0) != child || status != 0)
        failed++;
    forks++;
}

static void acquire(void) {
    pthread_mutex_lock(&first_lock);
    pthread_mutex_unlock(&first_lock);
}

int main(int argc, char **argv) {
    if (argc > 1)
        wanted = atoi(argv[1]);
    struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    acquire();
    signal(SIGALRM, handler);
    interval(1000);
    long count = 1;
    for (; forks < wanted; count++) {
        acquire();
        if (is_child) {
            for (int i = 0; i < 100; i++)
                acquire();
            _exit(0);
        }
    }
    interval(0);
    printf("%ld\n", count);
    return failed != 0;
}
