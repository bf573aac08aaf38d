/* Whether a thread of this process sleeps in a futex call, as the kernel says: a thread that yields
   or spins does not, however little CPU time a loaded host gives it. */
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static int is_asleep(int thread)
{
    char name[64];
    int call = -1;
    snprintf(name, sizeof name, "/proc/self/task/%d/syscall", thread);
    FILE *file = fopen(name, "r");
    if (!file) return 0;
    if (fscanf(file, "%d", &call) != 1) call = -1;
    fclose(file);
    return call == SYS_futex;
}

/* Waits until a thread sleeps, for some seconds at most. A waiter may wake up and look now and
   then, so what needs it asleep must come at once. */
static inline void await_sleep(int thread)
{
    for (int looks = 0; looks < 20000 && !is_asleep(thread); looks++) usleep(500);
}
