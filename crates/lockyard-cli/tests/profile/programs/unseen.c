/* A program whose calls may go past a recorder, by its first argument. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <threads.h>
#include <unistd.h>

static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t many_locks[4096];
static sem_t semaphore;
static mtx_t standard;

typedef int (*of_mutex)(pthread_mutex_t *);

static void by_name(void *where) {
    of_mutex lock = (of_mutex)dlsym(where, "pthread_mutex_lock");
    of_mutex unlock = (of_mutex)dlsym(where, "pthread_mutex_unlock");
    for (int i = 0; i < 10; i++) {
        lock(&own_lock);
        unlock(&own_lock);
    }
}

static void of_library(void *library) {
    void (*locks)(int) = library == NULL ? NULL : (void (*)(int))dlsym(library, "lock_of_library");
    if (locks == NULL) {
        puts(dlerror());
        exit(1);
    }
    locks(10);
}

static void *every_lock(void *argument) {
    for (int i = 0; i < 100000; i++) {
        pthread_mutex_lock(&many_locks[i & 4095]);
        pthread_mutex_unlock(&many_locks[i & 4095]);
    }
    return argument;
}

static void take(int count) {
    for (int i = 0; i < count; i++) {
        pthread_mutex_lock(&own_lock);
        pthread_mutex_unlock(&own_lock);
    }
}

static int descriptors(void) {
    int count = 0;
    for (int file = 0; file < 4096; file++)
        count += dup2(file, file) == file;
    return count;
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    const char *library = argc > 2 ? argv[2] : "";
    if (strcmp(how, "plain") == 0) {
        take(5);
        of_library(dlopen(library, RTLD_NOW));
    } else if (strcmp(how, "deep") == 0) {
        take(5);
        of_library(dlopen(library, RTLD_NOW | RTLD_DEEPBIND));
    } else if (strcmp(how, "namespace") == 0) {
        take(5);
        of_library(dlmopen(LM_ID_NEWLM, library, RTLD_NOW));
    } else if (strcmp(how, "handle") == 0) {
        take(5);
        by_name(dlopen("libc.so.6", RTLD_NOW));
    } else if (strcmp(how, "default") == 0) {
        take(5);
        by_name(RTLD_DEFAULT);
    } else if (strcmp(how, "semaphore") == 0) {
        sem_init(&semaphore, 0, 1);
        sem_wait(&semaphore);
        sem_post(&semaphore);
    } else if (strcmp(how, "standard") == 0) {
        mtx_init(&standard, mtx_plain);
        mtx_lock(&standard);
        mtx_unlock(&standard);
    } else if (strcmp(how, "daemon") == 0) {
        if (fork() != 0)
            return 0;
        close(1);
        close(2);
        sleep(2);
        take(5);
    } else if (strcmp(how, "limit") == 0 || strcmp(how, "no-limit") == 0) {
        struct rlimit few = {8192, 8192};
        if (how[0] == 'l')
            setrlimit(RLIMIT_FSIZE, &few);
        pthread_t threads[4];
        for (int i = 0; i < 4; i++)
            pthread_create(&threads[i], NULL, every_lock, NULL);
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
    } else if (strcmp(how, "descriptors") == 0) {
        take(5);
        printf("%d\n", descriptors());
    } else if (strcmp(how, "closed") == 0) {
        take(5);
        for (int file = 3; file < 4096; file++)
            close(file);
        every_lock(NULL);
    } else {
        take(5);
    }
    return 0;
}
