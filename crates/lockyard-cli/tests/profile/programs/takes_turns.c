/* Runs `turns` of turns.c by two threads, with a limit of time: a lost wake-up is a failure. */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

void turns(int me, int rounds);

static void *work(void *me) {
    turns((int)(long)me, 2000);
    return NULL;
}

int main(int argc, char **argv) {
    (void)argv;
    alarm(60);
    pthread_t threads[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    if (argc > 1) {
        pid_t child = fork();
        if (child == 0) {
            turns(0, 1);
            _exit(0);
        }
        int status = 1;
        if (waitpid(child, &status, 0) != child || status != 0)
            return 1;
    }
    puts("done");
    return 0;
}
