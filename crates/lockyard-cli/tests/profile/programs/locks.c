/* Programs whose lock calls are known exactly. The first argument selects one. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST 10000

static pthread_mutex_t locks[MOST] __attribute__((aligned(64)));
static pthread_mutex_t first_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_rwlock_t both = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static long lock_count, thread_count, repeats;
static volatile long sum;

static void check(int code) {
    if (code != 0) {
        fprintf(stderr, "failed: %s\n", strerror(code));
        exit(99);
    }
}

static void times(pthread_mutex_t *lock, long count) {
    for (long i = 0; i < count; i++) {
        check(pthread_mutex_lock(lock));
        sum++;
        check(pthread_mutex_unlock(lock));
    }
}

static void *each_lock(void *unused) {
    (void)unused;
    for (long i = 0; i < lock_count; i++)
        times(&locks[i], repeats);
    return NULL;
}

static void in_threads(long count, void *(*work)(void *)) {
    pthread_t *threads = calloc(count, sizeof *threads);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 65536);
    for (long i = 0; i < count; i++)
        check(pthread_create(&threads[i], &attributes, work, (void *)i));
    for (long i = 0; i < count; i++)
        check(pthread_join(threads[i], NULL));
    free(threads);
}

static void *sleeping_holder(void *unused) {
    (void)unused;
    for (int i = 0; i < 50; i++) {
        check(pthread_mutex_lock(&first_lock));
        usleep(1000);
        check(pthread_mutex_unlock(&first_lock));
    }
    return NULL;
}

static int turn;

/* Two threads pass the turn to each other 100 times each. */
static void *ping(void *which) {
    int mine = (int)(long)which;
    for (int i = 0; i < 100; i++) {
        check(pthread_mutex_lock(&first_lock));
        while (turn != mine)
            check(pthread_cond_wait(&condition, &first_lock));
        turn = !mine;
        check(pthread_cond_broadcast(&condition));
        check(pthread_mutex_unlock(&first_lock));
    }
    return NULL;
}

/* A thread that is cancelled in a wait unlocks by its handler. */
static void unlock(void *lock) { check(pthread_mutex_unlock(lock)); }

static void *waits_for_ever(void *unused) {
    (void)unused;
    check(pthread_mutex_lock(&first_lock));
    pthread_cleanup_push(unlock, &first_lock);
    for (;;)
        check(pthread_cond_wait(&condition, &first_lock));
    pthread_cleanup_pop(1);
    return NULL;
}

static void cancelled(void) {
    pthread_t thread;
    check(pthread_create(&thread, NULL, waits_for_ever, NULL));
    usleep(50000);
    check(pthread_cancel(thread));
    void *result;
    check(pthread_join(thread, &result));
    if (result != PTHREAD_CANCELED)
        exit(98);
    times(&first_lock, 5);
}

static void timed(void) {
    struct timespec soon = {0, 0};
    check(pthread_mutex_lock(&first_lock));
    if (pthread_mutex_trylock(&first_lock) != EBUSY)
        exit(98);
    if (pthread_mutex_destroy(&first_lock) != EBUSY)
        exit(93);
    if (pthread_mutex_timedlock(&first_lock, &soon) != ETIMEDOUT)
        exit(97);
    clock_gettime(CLOCK_MONOTONIC, &soon);
    if (pthread_mutex_clocklock(&first_lock, CLOCK_MONOTONIC, &soon) != ETIMEDOUT)
        exit(96);
    if (pthread_cond_timedwait(&condition, &first_lock, &soon) != ETIMEDOUT)
        exit(95);
    if (pthread_cond_clockwait(&condition, &first_lock, CLOCK_MONOTONIC, &soon) != ETIMEDOUT)
        exit(94);
    check(pthread_mutex_unlock(&first_lock));
    check(pthread_mutex_trylock(&first_lock));
    check(pthread_mutex_unlock(&first_lock));
}

static void recursive(void) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&locks[0], &attributes);
    for (int i = 0; i < 100; i++) {
        for (int depth = 0; depth < 3; depth++)
            check(pthread_mutex_lock(&locks[0]));
        for (int depth = 0; depth < 3; depth++)
            check(pthread_mutex_unlock(&locks[0]));
    }
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&locks[1], &attributes);
    for (int i = 0; i < 100; i++) {
        check(pthread_mutex_lock(&locks[1]));
        if (pthread_mutex_lock(&locks[1]) != EDEADLK)
            exit(98);
        check(pthread_mutex_unlock(&locks[1]));
        if (pthread_mutex_unlock(&locks[1]) != EPERM)
            exit(97);
    }
    check(pthread_mutex_destroy(&locks[1]));
}

static pthread_mutex_t robust;

static void *dies_with_it(void *unused) {
    (void)unused;
    check(pthread_mutex_lock(&robust));
    return NULL;
}

static void owner_dead(void) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&robust, &attributes);
    in_threads(1, dies_with_it);
    if (pthread_mutex_lock(&robust) != EOWNERDEAD)
        exit(98);
    check(pthread_mutex_consistent(&robust));
    check(pthread_mutex_unlock(&robust));
    times(&robust, 10);
}

static void other_kinds(void) {
    pthread_spin_init(&spin, 0);
    for (int i = 0; i < 100; i++) {
        check(pthread_spin_lock(&spin));
        check(pthread_spin_unlock(&spin));
        check(pthread_rwlock_rdlock(&both));
        check(pthread_rwlock_tryrdlock(&both));
        check(pthread_rwlock_unlock(&both));
        check(pthread_rwlock_unlock(&both));
        check(pthread_rwlock_wrlock(&both));
        check(pthread_rwlock_unlock(&both));
    }
}

static void orders(void) {
    pthread_mutex_lock(&first_lock);
    pthread_mutex_lock(&second_lock);
    pthread_mutex_unlock(&second_lock);
    pthread_mutex_unlock(&first_lock);
    pthread_mutex_lock(&second_lock);
    pthread_mutex_lock(&first_lock);
    pthread_mutex_unlock(&first_lock);
    pthread_mutex_unlock(&second_lock);
}

/* Waits for a condition that nobody signals: each wakes up by itself. */
static void unsignalled(long count) {
    check(pthread_mutex_lock(&first_lock));
    for (long i = 0; i < count; i++)
        check(pthread_cond_wait(&condition, &first_lock));
    check(pthread_mutex_unlock(&first_lock));
}

static void forked(void) {
    times(&first_lock, 10);
    pid_t child = fork();
    if (child == 0) {
        times(&first_lock, 20);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    times(&first_lock, 5);
}

static volatile int handlers;

/* Runs in the child before the recorder's handler, if it is registered before it. */
static void in_child(void) {
    if (handlers)
        times(&second_lock, 30);
}

/* Before all constructors, also those of libraries. */
static void before_all(void) { pthread_atfork(NULL, NULL, in_child); }

__attribute__((section(".preinit_array"), used)) static void (*const early)(void) = before_all;

/* The parent's records have nothing of what the child does. */
static void early_handler(void) {
    handlers = 1;
    times(&second_lock, 10);
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
}

static void signalled(int signal) {
    (void)signal;
    if (pthread_mutex_trylock(&second_lock) == 0)
        pthread_mutex_unlock(&second_lock);
}

/* A signal handler that takes a lock, at any place of the recorder. */
static void signals(void) {
    struct timespec every = {0, 20000};
    timer_t timer;
    struct itimerspec times_of = {every, every};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    signal(SIGALRM, signalled);
    check(timer_create(CLOCK_MONOTONIC, &event, &timer) ? errno : 0);
    check(timer_settime(timer, 0, &times_of, NULL) ? errno : 0);
    times(&first_lock, 300000);
    timer_delete(timer);
}

static void loaded(const char *path) {
    void *library = dlopen(path, RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(98);
    }
    void (*of_library)(int) = (void (*)(int))dlsym(library, "lock_of_library");
    of_library(7);
    dlclose(library);
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "";
    if (argc > 3) {
        lock_count = atol(argv[2]);
        thread_count = atol(argv[3]);
        repeats = argc > 4 ? atol(argv[4]) : 1;
    }
    /* A test that fails leaves no process for ever, and an abort no core file. */
    struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    alarm(600);
    errno = 77;
    if (!strcmp(name, "counts"))
        in_threads(thread_count, each_lock);
    else if (!strcmp(name, "contended"))
        in_threads(2, sleeping_holder);
    else if (!strcmp(name, "condition"))
        in_threads(2, ping);
    else if (!strcmp(name, "cancelled"))
        cancelled();
    else if (!strcmp(name, "timed"))
        timed();
    else if (!strcmp(name, "recursive"))
        recursive();
    else if (!strcmp(name, "owner-dead"))
        owner_dead();
    else if (!strcmp(name, "other-kinds"))
        other_kinds();
    else if (!strcmp(name, "orders"))
        orders();
    else if (!strcmp(name, "unsignalled"))
        unsignalled(atol(argv[2]));
    else if (!strcmp(name, "forked"))
        forked();
    else if (!strcmp(name, "early-handler"))
        early_handler();
    else if (!strcmp(name, "signals"))
        signals();
    else if (!strcmp(name, "loaded"))
        loaded(argv[2]);
    else if (!strcmp(name, "errno")) {
        times(&first_lock, 1);
        return errno == 77 ? 0 : 98;
    } else if (!strcmp(name, "output")) {
        times(&first_lock, 3);
        puts("of the program");
        fputs("error of the program\n", stderr);
        return 5;
    } else {
        times(&first_lock, 1000);
        check(pthread_mutex_lock(&second_lock));
        if (!strcmp(name, "abort"))
            abort();
        if (!strcmp(name, "kill"))
            raise(SIGKILL);
        if (!strcmp(name, "exit"))
            _exit(3);
        if (!strcmp(name, "wait")) {
            puts("ready");
            fflush(stdout);
            pause();
        }
        return 99;
    }
    return 0;
}
