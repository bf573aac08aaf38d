// A process that takes locks, loses its way to the records by what the first argument says, and
// forks a child that takes locks too. With "many" it forks as many children as the second says.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define CANNOT 77

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void take(int times) {
    while (times--) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
}

static int limit(int resource) {
    struct rlimit none = {0, 0};
    return setrlimit(resource, &none);
}

static int lose(const char *how) {
    if (!strcmp(how, "chroot")) return chroot("/proc") || chdir("/");
    if (!strcmp(how, "setuid")) return setuid(65534);
    if (!strcmp(how, "nofile")) return limit(RLIMIT_NOFILE);
    if (!strcmp(how, "fsize")) return limit(RLIMIT_FSIZE);
    if (!strcmp(how, "mounts"))
        return unshare(CLONE_NEWNS) || mount("none", "/", 0, MS_REC | MS_PRIVATE, 0) ||
               mount("tmpfs", "/dev/shm", "tmpfs", 0, 0) || mount("tmpfs", "/tmp", "tmpfs", 0, 0);
    return 0;
}

int main(int count, char **arguments) {
    int children = count > 2 ? atoi(arguments[2]) : 1;
    take(300);
    if (lose(arguments[1])) return CANNOT;
    for (int child = 0; child < children; child++) {
        if (!fork()) {
            take(20);
            _exit(0);
        }
        wait(0);
    }
    return 0;
}
