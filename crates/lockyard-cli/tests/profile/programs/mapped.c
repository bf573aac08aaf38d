/* Locks in memory of files: mapped KIND [PATH [COMMAND]].
   zero     in shared memory of no file
   memfd    in a file that has no path
   file     in a file
   library  in the library of this path, which has the function `w`
   The child of a fork takes the lock, so that its records have the mapping. Then the command
   does something to the file. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int open_file(const char *kind, const char *path)
{
    if (strcmp(kind, "zero") == 0) return -1;
    if (strcmp(kind, "memfd") == 0) {
        int file = memfd_create("shared", 0);
        return ftruncate(file, 4096) == 0 ? file : -1;
    }
    return open(path, O_RDWR);
}

int main(int count, char **arguments)
{
    const char *kind = arguments[1], *path = count > 2 ? arguments[2] : 0;
    void (*work)(void) = 0;
    pthread_mutex_t *lock = 0;
    if (strcmp(kind, "library") == 0) {
        void *library = dlopen(path, RTLD_NOW);
        work = library ? (void (*)(void))dlsym(library, "w") : 0;
        if (!work) return 3;
    } else {
        int file = open_file(kind, path);
        int flags = MAP_SHARED | (file < 0 ? MAP_ANONYMOUS : 0);
        char *memory = mmap(0, 4096, PROT_READ | PROT_WRITE, flags, file, 0);
        if (memory == MAP_FAILED) return 4;
        lock = (pthread_mutex_t *)(memory + 128);
        memset(lock, 0, sizeof *lock);
    }
    pid_t child = fork();
    if (child == 0) {
        if (work) work();
        for (int turn = 0; lock && turn < 100; turn++) {
            pthread_mutex_lock(lock);
            pthread_mutex_unlock(lock);
        }
        _exit(0);
    }
    waitpid(child, 0, 0);
    return count > 3 ? system(arguments[3]) : 0;
}
