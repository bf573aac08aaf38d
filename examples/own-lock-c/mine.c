/* A ticket lock in C11, for `lockyard measure SCENARIO --lock ./mine.so`:
 *
 *   gcc -std=c11 -O2 -Wall -Wextra -shared -fPIC -o mine.so examples/own-lock-c/mine.c
 *   lockyard measure spin-loop/same-node/embedded -t 1,2 --lock ./mine.so
 */
#include <stdatomic.h>
#include <stddef.h>

struct lock { atomic_uint next, owner; };

const size_t lockyard_lock_size = sizeof(struct lock);
const size_t lockyard_lock_align = _Alignof(struct lock);
const char lockyard_lock_name[] = "c-ticket";

void lockyard_lock(void *memory)
{
    struct lock *lock = memory;
    unsigned ticket = atomic_fetch_add_explicit(&lock->next, 1, memory_order_relaxed);
    while (atomic_load_explicit(&lock->owner, memory_order_acquire) != ticket)
        ;
}

void lockyard_unlock(void *memory)
{
    struct lock *lock = memory;
    unsigned owner = atomic_load_explicit(&lock->owner, memory_order_relaxed);
    atomic_store_explicit(&lock->owner, owner + 1, memory_order_release);
}
