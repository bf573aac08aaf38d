/* Locks and conditions under a filter that ends the process at each system call but those that the
   C library makes for threads and locks. The first argument is the way to set the filter: "here",
   or "before", which runs the program again under the filter. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_spinlock_t spin;
static long number;

static void *work(void *seed)
{
    unsigned random = (unsigned)(size_t)seed;
    for (int i = 0; i < 400; i++) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += rand_r(&random) % 60000;
        if (until.tv_nsec > 999999999) until.tv_nsec -= 1000000000, until.tv_sec++;
        if (i % 4 != 0)
            pthread_mutex_lock(&mutex);
        else if (pthread_mutex_timedlock(&mutex, &until))
            continue;
        number++;
        if (i % 8 == 1) pthread_cond_timedwait(&condition, &mutex, &until);
        pthread_mutex_unlock(&mutex);
        if (i % 4 == 1) pthread_cond_broadcast(&condition);
        pthread_cond_t other = PTHREAD_COND_INITIALIZER;
        pthread_cond_destroy(&other);
        pthread_mutex_lock(&recursive);
        pthread_mutex_lock(&recursive);
        pthread_mutex_unlock(&recursive);
        pthread_mutex_unlock(&recursive);
        pthread_spin_lock(&spin);
        number++;
        pthread_spin_unlock(&spin);
    }
    return 0;
}

static int set_filter(int kills_many)
{
    static const int forbidden[] = {
        SYS_sched_yield, SYS_sched_getscheduler, SYS_sched_getparam, SYS_nanosleep,
        SYS_clock_nanosleep, SYS_getpid, SYS_gettid, SYS_tgkill, SYS_membarrier,
    };
    struct sock_filter code[2 * sizeof forbidden / sizeof *forbidden + 2];
    int length = 0;
    code[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                                  offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++) {
        code[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                                      (unsigned)forbidden[i], 0, 1);
        code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    }
    code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {(unsigned short)length, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return 1;
    return kills_many ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)
                      : (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

int main(int count, char **arguments)
{
    pthread_t threads[8];
    const char *way = count > 1 ? arguments[1] : "here";
    if (strcmp(way, "under") && set_filter(!strcmp(way, "here"))) return puts("refused"), 0;
    if (!strcmp(way, "before")) {
        execl("/proc/self/exe", arguments[0], "under", (char *)0);
        return 2;
    }
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    for (size_t i = 0; i < 8; i++) pthread_create(&threads[i], 0, work, (void *)(i + 1));
    for (int i = 0; i < 8; i++) pthread_join(threads[i], 0);
    puts(number > 0 ? "done" : "nothing done");
    return 0;
}
