/*
 * lockyard: locks, reference counts and tables that scale, for C11, C++17 and every language that
 * calls C. 64-bit systems. Link with -llockyard (pkg-config lockyard).
 *
 * Licensed as MIT OR Apache-2.0. Made from the Rust sources by cbindgen: do not edit it by hand.
 *
 * Objects. The types with a definition here live wherever the program puts them: in a static by
 * LY_..._INIT, in memory of zeros (except counts), or by ly_..._init. They must not be moved or
 * copied while they are in use. Nothing is allocated for them, and ly_..._destroy frees nothing: in
 * a debug build it checks that the object is not in use. The other types are opaque, and their
 * ly_..._create returns NULL without memory. All calls are out of line. Sizes are part of the
 * binary interface, which changes with the number in liblockyard.so.N.
 *
 * Results. A function that can fail says how. "bool" is true for success. "int" is 0 or a number of
 * <errno.h>. errno itself means nothing after a call.
 *
 * Undefined. Each function says what it requires. Anything else is undefined. A debug build
 * (ly_is_checked, install.sh --debug) detects some of it, and aborts with a line on the standard
 * error: the release of a free lock, a wait with a free mutex, the end of an object in use, a
 * handle that is empty, a null or misaligned pointer. Every build aborts for a wait with a second
 * mutex. No build detects that a thread takes a lock that it holds, or releases one of another
 * thread.
 *
 * Threads. Every function may be called from every thread, at the same time, except where it says
 * otherwise. A lock is released by the thread that took it. Handles of readers and of locked
 * objects (ly_reclaim_guard_t, ly_ids_entry_t) stay in their thread.
 *
 * Processes. Objects belong to one process: they must not be in memory that processes share.
 *
 * fork. In the child, an object works if no other thread of the parent held it, waited for it, or
 * was inside it. All others stay as they were, and must not be used: a child that does not exec
 * makes new ones. Guards of the parent's other threads never leave, so their domain frees nothing.
 *
 * Signals. A handler must not take a mutex, nor allocate or free. It may take a spinlock if the
 * interrupted code neither holds it nor waits for it, and if the thread has entered a domain before
 * (a first wait may allocate). The same is true of a lockref, whose functions may take its lock. A
 * handler may use a pageref. It may call ly_reclaim_enter and _leave in a thread that has entered
 * this domain before, and then ly_reclaim_retire_later.
 *
 * Thread exit. A thread may use locks in destructors of thread-specific data. If its slot has been
 * given back by then, it yields instead of sleeping or queueing. A thread must not end while it
 * holds a lock, a guard or an entry: the lock stays held, and the domain frees nothing. More than
 * 16,383 threads at a time work, but the further ones have no slot.
 *
 * Timeouts. A timeout is a number of nanoseconds from the call on, at most INT64_MAX (292 years). A
 * larger number, such as a negative one that was converted, has expired: the function takes a lock
 * that is free, and does not wait. So does 0.
 *
 * longjmp. A jump out of a function that the library calls (ly_drop_fn, ly_fill_fn,
 * ly_reclaim_free_fn) is undefined. So is a jump out of a signal handler that interrupted a
 * function of the library. A jump over frames of the program is allowed. It releases nothing: a
 * lock stays held, and an entry stays locked. The domain of a guard frees nothing until that guard
 * leaves. So locks, guards and entries that are in use must not be in a frame that the jump ends.
 * The same is true of setcontext and of jumps between stacks, which also must not change the
 * thread.
 *
 * Cancellation. No function is a cancellation point. A thread that can be cancelled at any time
 * must not call any.
 *
 * C++. Functions are noexcept. A function of the program that is called back must not throw.
 *
 * Thread sanitizer. It does not see into the library. With -fsanitize=thread this header tells it
 * what each call orders, if all calls are made through the header.
 */

#ifndef LOCKYARD_H
#define LOCKYARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if UINTPTR_MAX != UINT64_MAX
#error "lockyard is for 64-bit systems"
#endif

/* The version of this header; ly_version is that of the library. */
#define LY_VERSION "0.1.0"

#ifdef __cplusplus
#define LY_NOEXCEPT noexcept
#else
#define LY_NOEXCEPT
#endif

#if defined(__GNUC__) || defined(__clang__)
#define LY_MUST_USE __attribute__((warn_unused_result))
#else
#define LY_MUST_USE
#endif

/* Static initialisers. */
#define LY_MUTEX_INIT { 0 }
#define LY_COND_INIT { { 0, 0, 0 } }
#define LY_QSPIN_INIT { 0 }
#define LY_TICKET_INIT { 0 }
#define LY_TAS_INIT { 0 }
#define LY_PVQSPIN_INIT { 0, 0 }
#define LY_PVTICKET_INIT { 0 }
/* A free lock, and `count` references, at most 2^30. */
#define LY_LOCKREF_INIT(count) { (count) }
/* From 1 to 2^30 references. */
#define LY_PAGEREF_INIT(references) { (references) }

struct ly_reclaim_head_t;


/**
 * Result of `ly_lockref_count` for a dead object.
 */
#define LY_LOCKREF_DEAD (-1)

/**
 * Result of `ly_lockref_count` beyond 2^30 references: the object is never freed.
 */
#define LY_LOCKREF_SATURATED (-2)

/**
 * Result of `ly_lockref_put_return` if it dropped nothing.
 */
#define LY_LOCKREF_REFUSED (-3)

/**
 * Result of `ly_pageref_references` if there are none, and none can be taken.
 */
#define LY_PAGEREF_FROZEN (-1)

/**
 * Result of `ly_pageref_references` beyond 2^30 references: the object is never freed.
 */
#define LY_PAGEREF_SATURATED (-2)

/**
 * The family of an endpoint with an IPv4 address.
 */
#define LY_IPV4 4

/**
 * The family of an endpoint with an IPv6 address.
 */
#define LY_IPV6 6

/**
 * Cache of buffers. A hit takes no lock. Unused buffers stay until their memory is needed.
 */
typedef struct ly_bufs_t ly_bufs_t;

/**
 * Table of connections that expire, found by protocol, addresses and ports in either direction. A
 * look-up takes no lock.
 */
typedef struct ly_conns_t ly_conns_t;

/**
 * Table that gives pointers small numbers. A look-up takes no lock of the table, and locks the
 * object that it finds.
 */
typedef struct ly_ids_t ly_ids_t;

/**
 * Domain of readers and retired objects: memory that readers access without a lock is freed after
 * those readers have left. Threads enter it, and retire objects to it.
 */
typedef struct ly_reclaim_t ly_reclaim_t;

/**
 * Counters of one object that many threads update and few read. Each NUMA node that updates has a
 * record of one line.
 */
typedef struct ly_stats_t ly_stats_t;

/**
 * Mutex of 4 bytes, for threads of an ordinary program. A waiter spins for some microseconds and
 * then sleeps. Newcomers may pass it; once it has waited for a millisecond it demands the lock.
 *
 * A static one is initialised by `LY_MUTEX_INIT`, and one in memory of zeros is initialised too.
 */
typedef struct ly_mutex_t {
    /**
     * Only for the functions of this type.
     */
    uint32_t word_;
} ly_mutex_t;

/**
 * Condition variable of 24 bytes, for `ly_mutex_t`. It has no spurious wake-ups, but another
 * thread may take the mutex before the woken thread: check the condition again, in a loop.
 *
 * A static one is initialised by `LY_COND_INIT`, and one in memory of zeros is initialised too.
 */
typedef struct ly_cond_t {
    /**
     * Only for the functions of this type.
     */
    uint64_t words_[3];
} ly_cond_t;

/**
 * Queued spinlock of 4 bytes, first in, first out. Each waiter spins on a separate line, so a
 * hand-over costs a fixed number of line transfers. For threads that keep their CPUs: with more
 * threads than CPUs it nearly stops.
 *
 * A static one is initialised by `LY_QSPIN_INIT`, and one in memory of zeros is initialised too.
 */
typedef struct ly_qspin_t {
    /**
     * Only for the functions of this type.
     */
    uint32_t word_;
} ly_qspin_t;

/**
 * Ticket lock of 4 bytes: first come, first served. Each hand-over is seen by all waiters, so it
 * suits few of them. For threads that keep their CPUs: with more threads than CPUs it nearly
 * stops.
 *
 * A static one is initialised by `LY_TICKET_INIT`, and one in memory of zeros is initialised too.
 */
typedef struct ly_ticket_t {
    /**
     * Only for the functions of this type.
     */
    uint32_t word_;
} ly_ticket_t;

/**
 * Test-and-set lock of 4 bytes. All waiters compete for its line, and one may starve. It is a
 * baseline for comparison.
 *
 * A static one is initialised by `LY_TAS_INIT`, and one in memory of zeros is initialised too.
 */
typedef struct ly_tas_t {
    /**
     * Only for the functions of this type.
     */
    uint32_t word_;
} ly_tas_t;

/**
 * Queued lock of 8 bytes whose waiters park: for more threads than CPUs, and for guests of a
 * hypervisor. A newcomer may pass waiters, within a bound. (In Rust it has 4 bytes; C has to keep
 * the holder's token in the lock.)
 *
 * A static one is initialised by `LY_PVQSPIN_INIT`, and one in memory of zeros is initialised too.
 */
typedef struct ly_pvqspin_t {
    /**
     * Only for the functions of this type.
     */
    uint32_t word_;
    /**
     * Token of the holder, which gives it back. Only the holder uses it.
     */
    uint32_t token_;
} ly_pvqspin_t;

/**
 * Ticket lock of 4 bytes whose waiters park: first come, first served, even if the next thread is
 * preempted. Each hand-over to a parked thread is a wake-up.
 *
 * A static one is initialised by `LY_PVTICKET_INIT`, and one in memory of zeros is initialised
 * too.
 */
typedef struct ly_pvticket_t {
    /**
     * Only for the functions of this type.
     */
    uint32_t word_;
} ly_pvticket_t;

/**
 * Reference count with a queued lock, in 8 bytes. While the lock is free, the count changes
 * without it. It counts to 2^30; beyond that the object is never freed.
 *
 * A static one is initialised by `LY_LOCKREF_INIT(count)`.
 */
typedef struct ly_lockref_t {
    /**
     * Only for the functions of this type.
     */
    uint64_t word_;
} ly_lockref_t;

/**
 * Reference count of 4 bytes for an object that is found without a lock: a reference can be taken
 * only while there is another. It counts to 2^30; beyond that the object is never freed.
 *
 * A static one is initialised by `LY_PAGEREF_INIT(references)`, with at least one.
 */
typedef struct ly_pageref_t {
    /**
     * Only for the functions of this type.
     */
    uint32_t word_;
} ly_pageref_t;

/**
 * Membership of a thread in a domain. Filled by `ly_reclaim_enter`, emptied by `ly_reclaim_leave`.
 */
typedef struct ly_reclaim_guard_t {
    /**
     * Only for the functions of this type.
     */
    uint64_t words_[6];
} ly_reclaim_guard_t;

/**
 * A function that frees a retired object. Its argument is the object's head. It may run in any
 * thread that retires to the domain, collects, waits or destroys the domain. It may retire other
 * objects. It must not wait for a grace period, and must not throw.
 */
typedef void (*ly_reclaim_free_fn)(struct ly_reclaim_head_t *head);

/**
 * The part of an object that is used to retire it, of 32 bytes. It needs no initialisation, and
 * readers do not access it.
 */
typedef struct ly_reclaim_head_t {
    /**
     * Only for the functions of this type.
     */
    uint64_t words_[3];
    /**
     * The function given when the object was retired.
     */
    ly_reclaim_free_fn free_;
} ly_reclaim_head_t;

/**
 * Counted event: an update, or a sum.
 */
typedef struct ly_counts_t {
    /**
     * Packets, or any other event. Wraps at 2^64.
     */
    uint64_t packets;
    /**
     * Bytes of the packets. Wraps at 2^64.
     */
    uint64_t bytes;
    /**
     * Time of the last packet, in the caller's unit. A sum has the latest.
     */
    uint64_t last_used;
    /**
     * Flags of the packets. A sum has their union.
     */
    uint32_t flags;
    /**
     * Unused.
     */
    uint32_t unused_;
} ly_counts_t;

/**
 * A function of the program that a table calls with a value that it gives up, or NULL. It must not
 * throw, and it may run in any thread that uses the table.
 */
typedef void (*ly_drop_fn)(void *value);

/**
 * An object of a table, locked. Filled by `ly_ids_find`, emptied by `ly_ids_release` or
 * `ly_ids_remove_found`.
 */
typedef struct ly_ids_entry_t {
    /**
     * Only for the functions of this type.
     */
    uint64_t words_[10];
} ly_ids_entry_t;

/**
 * An address and a port.
 */
typedef struct ly_endpoint_t {
    /**
     * The address in network byte order; an IPv4 address is in the first four bytes.
     */
    uint8_t address[16];
    /**
     * The port in the host's byte order, or another number that tells flows apart.
     */
    uint16_t port;
    /**
     * `LY_IPV4` or `LY_IPV6`.
     */
    uint8_t family;
    /**
     * Unused.
     */
    uint8_t unused_;
} ly_endpoint_t;

/**
 * Protocol, addresses and ports of a packet.
 */
typedef struct ly_tuple_t {
    /**
     * The source of the packet.
     */
    struct ly_endpoint_t source;
    /**
     * The destination of the packet.
     */
    struct ly_endpoint_t destination;
    /**
     * The number of the IP protocol.
     */
    uint8_t protocol;
    /**
     * Unused.
     */
    uint8_t unused_[3];
} ly_tuple_t;

/**
 * A reference to a connection, which keeps it alive even after it has left the table. Filled by
 * `ly_conns_find`, `ly_conns_insert` or `ly_conn_clone`, emptied by `ly_conn_release`.
 */
typedef struct ly_conn_t {
    /**
     * Only for the functions of this type.
     */
    uint64_t words_[3];
} ly_conn_t;

/**
 * A function that makes the contents of a buffer, and stores their pointer in `value`. Returns 0,
 * or a number that `ly_bufs_get` returns. It runs outside all locks, and may use the cache for
 * other keys. It must not throw.
 */
typedef int (*ly_fill_fn)(uint32_t group, uint64_t block, void *argument, void **value);

/**
 * A reference to a buffer, which keeps it alive even after it has left the cache. Filled by
 * `ly_bufs_get`, `ly_bufs_find` or `ly_buf_clone`, emptied by `ly_buf_release`.
 */
typedef struct ly_buf_t {
    /**
     * Only for the functions of this type.
     */
    uint64_t words_[3];
} ly_buf_t;

/**
 * Function that is called with `false` before a function of the program runs or memory is freed,
 * and with `true` after a function of the program or the library has made data that other threads
 * get.
 */
typedef void (*ly_hook_fn_)(void *address, bool is_after);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Returns the version of the library that runs, such as "0.1.0". Never fails.
 */
const char *ly_version(void) LY_NOEXCEPT;

/**
 * Returns true if the library is a debug build, which ends the program with a message when it
 * detects misuse. Never fails.
 */
bool ly_is_checked(void) LY_NOEXCEPT;

/**
 * Makes a free mutex, as `LY_MUTEX_INIT` does. Cost: one store. Never fails.
 *
 * Requires: `mutex` must point to memory for a mutex that no thread uses.
 */
void ly_mutex_init(struct ly_mutex_t *mutex) LY_NOEXCEPT;

/**
 * Ends the life of a mutex. Cost: nothing; it frees nothing. A debug build aborts if the mutex is
 * held.
 *
 * Requires: `mutex` must be initialised and free, and no thread may use it any more.
 */
void ly_mutex_destroy(struct ly_mutex_t *mutex) LY_NOEXCEPT;

/**
 * Takes the mutex, waiting until it is free. What the last holder did before its release happens
 * before. Cost without contention: one exchange. Never fails.
 *
 * Requires: `mutex` must be initialised, must not move, and the calling thread must not hold it
 * (the thread
 * would wait for itself).
 */
void ly_mutex_lock(struct ly_mutex_t *mutex) LY_NOEXCEPT;

/**
 * Takes the mutex if it is free, without waiting. Returns true if it took it. Cost: one load, and
 * one exchange if it was free.
 *
 * Requires: The same as for `ly_mutex_lock`; the calling thread may hold it.
 */
LY_MUST_USE bool ly_mutex_trylock(struct ly_mutex_t *mutex) LY_NOEXCEPT;

/**
 * Takes the mutex, waiting for `nanoseconds` at most. Returns true if it took it. Cost without
 * contention: as `ly_mutex_lock`, and one reading of the clock.
 *
 * Requires: The same as for `ly_mutex_lock`.
 */
LY_MUST_USE bool ly_mutex_timedlock(struct ly_mutex_t *mutex, uint64_t nanoseconds) LY_NOEXCEPT;

/**
 * Releases the mutex. Another thread may take it before those that wait. Cost: one load and one
 * plain store, and a wake-up if a thread sleeps and no other thread is about to take the mutex.
 * Never fails. A debug build aborts if the mutex is free.
 *
 * Requires: The calling thread must hold the mutex.
 */
void ly_mutex_unlock(struct ly_mutex_t *mutex) LY_NOEXCEPT;

/**
 * Releases the mutex, directly to the thread that has slept longest if there is one. Cost: that
 * thread's wake-up, in which no other thread can take the mutex. Never fails. A debug build aborts
 * if the mutex is free.
 *
 * Requires: The calling thread must hold the mutex, and must not be in a signal handler.
 */
void ly_mutex_unlock_fair(struct ly_mutex_t *mutex) LY_NOEXCEPT;

/**
 * Returns true if the mutex is held. The answer may be stale when it returns. Cost: one load.
 *
 * Requires: `mutex` must be initialised.
 */
LY_MUST_USE bool ly_mutex_is_locked(const struct ly_mutex_t *mutex) LY_NOEXCEPT;

/**
 * Makes a condition variable without waiters, as `LY_COND_INIT` does. Cost: three stores. Never
 * fails.
 *
 * Requires: `cond` must point to memory for a condition variable that no thread uses.
 */
void ly_cond_init(struct ly_cond_t *cond) LY_NOEXCEPT;

/**
 * Ends the life of a condition variable. Cost: nothing; it frees nothing. A debug build aborts if
 * a thread waits.
 *
 * Requires: `cond` must be initialised, no thread may wait, and no thread may use it any more.
 */
void ly_cond_destroy(struct ly_cond_t *cond) LY_NOEXCEPT;

/**
 * Releases `mutex`, sleeps until another thread notifies this one, and takes `mutex` again. No
 * notification is lost that comes after the release. Cost: a sleep and a wake-up. Never fails.
 * Aborts if other threads wait with another mutex; a debug build aborts if `mutex` is free.
 *
 * Requires: Both must be initialised and must not move. The calling thread must hold `mutex`.
 */
void ly_cond_wait(struct ly_cond_t *cond, struct ly_mutex_t *mutex) LY_NOEXCEPT;

/**
 * As `ly_cond_wait`, but sleeps for `nanoseconds` at most. Returns true if it was notified, and
 * false on a timeout. The thread holds `mutex` in both cases. The call may return after the
 * timeout, because it waits without a limit to take `mutex`.
 *
 * Requires: The same as for `ly_cond_wait`.
 */
bool ly_cond_timedwait(struct ly_cond_t *cond,
                       struct ly_mutex_t *mutex,
                       uint64_t nanoseconds)
LY_NOEXCEPT;

/**
 * Notifies the thread that has waited longest, if a thread waits. Returns true if a thread was
 * notified. Cost: one load if no thread waits, otherwise a lock and a wake-up. Never fails.
 *
 * Requires: `cond` must be initialised. The calling thread need not hold the mutex.
 */
bool ly_cond_signal(struct ly_cond_t *cond) LY_NOEXCEPT;

/**
 * Notifies all threads that wait. Returns their number. They compete for the mutex. Cost: as
 * `ly_cond_signal`, and a wake-up for each. Never fails.
 *
 * Requires: The same as for `ly_cond_signal`.
 */
size_t ly_cond_broadcast(struct ly_cond_t *cond) LY_NOEXCEPT;

/**
 * Makes a free lock, as `LY_QSPIN_INIT` does. Cost: one store. Never fails.
 *
 * Requires: `lock` must point to memory for a lock that no thread uses.
 */
void ly_qspin_init(struct ly_qspin_t *lock) LY_NOEXCEPT;

/**
 * Ends the life of a lock. Cost: nothing; it frees nothing. A debug build aborts if the lock is
 * held.
 *
 * Requires: `lock` must be initialised and free, and no thread may use it any more.
 */
void ly_qspin_destroy(struct ly_qspin_t *lock) LY_NOEXCEPT;

/**
 * Takes the lock, waiting until it is free. What the last holder did before its release happens
 * before. Cost without contention: one compare-exchange. Never fails.
 *
 * Requires: `lock` must be initialised, must not move, and the calling thread must not hold it.
 */
void ly_qspin_lock(struct ly_qspin_t *lock) LY_NOEXCEPT;

/**
 * Takes the lock if it is free, without waiting. Returns true if it took the lock. Cost: one load,
 * and one locked operation if it was free.
 *
 * Requires: The same as for `ly_qspin_lock`; the calling thread may hold it.
 */
LY_MUST_USE bool ly_qspin_trylock(struct ly_qspin_t *lock) LY_NOEXCEPT;

/**
 * Releases the lock. Cost: one plain store. Never fails. A debug build aborts if the lock is free.
 *
 * Requires: The calling thread must hold the lock.
 */
void ly_qspin_unlock(struct ly_qspin_t *lock) LY_NOEXCEPT;

/**
 * Returns true if the lock is held. The answer may be stale when it returns. Cost: one load.
 *
 * Requires: `lock` must be initialised.
 */
LY_MUST_USE bool ly_qspin_is_locked(const struct ly_qspin_t *lock) LY_NOEXCEPT;

/**
 * Makes a free lock, as `LY_TICKET_INIT` does. Cost: one store. Never fails.
 *
 * Requires: `lock` must point to memory for a lock that no thread uses.
 */
void ly_ticket_init(struct ly_ticket_t *lock) LY_NOEXCEPT;

/**
 * Ends the life of a lock. Cost: nothing; it frees nothing. A debug build aborts if the lock is
 * held.
 *
 * Requires: `lock` must be initialised and free, and no thread may use it any more.
 */
void ly_ticket_destroy(struct ly_ticket_t *lock) LY_NOEXCEPT;

/**
 * Takes the lock, waiting until it is free. What the last holder did before its release happens
 * before. Cost without contention: one locked addition. Never fails. Ends the program if more than
 * 2^15 threads hold or wait.
 *
 * Requires: `lock` must be initialised, must not move, and the calling thread must not hold it.
 */
void ly_ticket_lock(struct ly_ticket_t *lock) LY_NOEXCEPT;

/**
 * Takes the lock if it is free, without waiting. Returns true if it took the lock. Cost: one load,
 * and one locked operation if it was free.
 *
 * Requires: The same as for `ly_ticket_lock`; the calling thread may hold it.
 */
LY_MUST_USE bool ly_ticket_trylock(struct ly_ticket_t *lock) LY_NOEXCEPT;

/**
 * Releases the lock. Cost: one load and one plain store. Never fails. A debug build aborts if the
 * lock is free.
 *
 * Requires: The calling thread must hold the lock.
 */
void ly_ticket_unlock(struct ly_ticket_t *lock) LY_NOEXCEPT;

/**
 * Returns true if the lock is held. The answer may be stale when it returns. Cost: one load.
 *
 * Requires: `lock` must be initialised.
 */
LY_MUST_USE bool ly_ticket_is_locked(const struct ly_ticket_t *lock) LY_NOEXCEPT;

/**
 * Makes a free lock, as `LY_TAS_INIT` does. Cost: one store. Never fails.
 *
 * Requires: `lock` must point to memory for a lock that no thread uses.
 */
void ly_tas_init(struct ly_tas_t *lock) LY_NOEXCEPT;

/**
 * Ends the life of a lock. Cost: nothing; it frees nothing. A debug build aborts if the lock is
 * held.
 *
 * Requires: `lock` must be initialised and free, and no thread may use it any more.
 */
void ly_tas_destroy(struct ly_tas_t *lock) LY_NOEXCEPT;

/**
 * Takes the lock, waiting until it is free. What the last holder did before its release happens
 * before. Cost without contention: one locked operation. Never fails.
 *
 * Requires: `lock` must be initialised, must not move, and the calling thread must not hold it.
 */
void ly_tas_lock(struct ly_tas_t *lock) LY_NOEXCEPT;

/**
 * Takes the lock if it is free, without waiting. Returns true if it took the lock. Cost: one load,
 * and one locked operation if it was free.
 *
 * Requires: The same as for `ly_tas_lock`; the calling thread may hold it.
 */
LY_MUST_USE bool ly_tas_trylock(struct ly_tas_t *lock) LY_NOEXCEPT;

/**
 * Takes the lock, waiting for `nanoseconds` at most. Returns true if it took the lock. Cost
 * without contention: as `ly_tas_lock`, and one reading of the clock.
 *
 * Requires: The same as for `ly_tas_lock`.
 */
LY_MUST_USE bool ly_tas_timedlock(struct ly_tas_t *lock, uint64_t nanoseconds) LY_NOEXCEPT;

/**
 * Releases the lock. Cost: one plain store. Never fails. A debug build aborts if the lock is free.
 *
 * Requires: The calling thread must hold the lock.
 */
void ly_tas_unlock(struct ly_tas_t *lock) LY_NOEXCEPT;

/**
 * Returns true if the lock is held. The answer may be stale when it returns. Cost: one load.
 *
 * Requires: `lock` must be initialised.
 */
LY_MUST_USE bool ly_tas_is_locked(const struct ly_tas_t *lock) LY_NOEXCEPT;

/**
 * Makes a free lock, as `LY_PVQSPIN_INIT` does. Cost: one store. Never fails.
 *
 * Requires: `lock` must point to memory for a lock that no thread uses.
 */
void ly_pvqspin_init(struct ly_pvqspin_t *lock) LY_NOEXCEPT;

/**
 * Ends the life of a lock. Cost: nothing; it frees nothing. A debug build aborts if the lock is
 * held.
 *
 * Requires: `lock` must be initialised and free, and no thread may use it any more.
 */
void ly_pvqspin_destroy(struct ly_pvqspin_t *lock) LY_NOEXCEPT;

/**
 * Takes the lock, waiting until it is free. What the last holder did before its release happens
 * before. Cost without contention: one compare-exchange. Never fails.
 *
 * Requires: `lock` must be initialised, must not move, and the calling thread must not hold it.
 */
void ly_pvqspin_lock(struct ly_pvqspin_t *lock) LY_NOEXCEPT;

/**
 * Takes the lock if it is free and no other thread has waited for too long. Never waits. Returns
 * true if it took the lock. Cost: one load, and one compare-exchange if it was free.
 *
 * Requires: The same as for `ly_pvqspin_lock`; the calling thread may hold it.
 */
LY_MUST_USE bool ly_pvqspin_trylock(struct ly_pvqspin_t *lock) LY_NOEXCEPT;

/**
 * Takes the lock, waiting for `nanoseconds` at most. Returns true if it took the lock. Any number
 * of threads may pass it. Cost without contention: as `ly_pvqspin_lock`, and one reading of the
 * clock.
 *
 * Requires: The same as for `ly_pvqspin_lock`.
 */
LY_MUST_USE bool ly_pvqspin_timedlock(struct ly_pvqspin_t *lock, uint64_t nanoseconds) LY_NOEXCEPT;

/**
 * Releases the lock. Cost: one locked addition, and a wake-up if the next waiter is parked. Never
 * fails. A debug build aborts if the lock is free.
 *
 * Requires: The calling thread must hold the lock.
 */
void ly_pvqspin_unlock(struct ly_pvqspin_t *lock) LY_NOEXCEPT;

/**
 * Releases the lock. If a thread is queued, no other thread takes the lock before it. Cost: as
 * `ly_pvqspin_unlock`. Never fails. A debug build aborts if the lock is free.
 *
 * Requires: The calling thread must hold the lock.
 */
void ly_pvqspin_unlock_fair(struct ly_pvqspin_t *lock) LY_NOEXCEPT;

/**
 * Returns true if the lock is held. The answer may be stale when it returns. Cost: one load.
 *
 * Requires: `lock` must be initialised.
 */
LY_MUST_USE bool ly_pvqspin_is_locked(const struct ly_pvqspin_t *lock) LY_NOEXCEPT;

/**
 * Makes a free lock, as `LY_PVTICKET_INIT` does. Cost: one store. Never fails.
 *
 * Requires: `lock` must point to memory for a lock that no thread uses.
 */
void ly_pvticket_init(struct ly_pvticket_t *lock) LY_NOEXCEPT;

/**
 * Ends the life of a lock. Cost: nothing; it frees nothing. A debug build aborts if the lock is
 * held.
 *
 * Requires: `lock` must be initialised and free, and no thread may use it any more.
 */
void ly_pvticket_destroy(struct ly_pvticket_t *lock) LY_NOEXCEPT;

/**
 * Takes the lock, waiting until it is free. What the last holder did before its release happens
 * before. Cost without contention: one locked addition. Never fails. Ends the program if more than
 * 2^14 threads hold or wait.
 *
 * Requires: `lock` must be initialised, must not move, and the calling thread must not hold it.
 */
void ly_pvticket_lock(struct ly_pvticket_t *lock) LY_NOEXCEPT;

/**
 * Takes the lock if it is free, without waiting. Returns true if it took the lock. Cost: one load,
 * and one locked operation if it was free.
 *
 * Requires: The same as for `ly_pvticket_lock`; the calling thread may hold it.
 */
LY_MUST_USE bool ly_pvticket_trylock(struct ly_pvticket_t *lock) LY_NOEXCEPT;

/**
 * Releases the lock. Cost: one locked addition, and a wake-up if the next waiter is parked. Never
 * fails. A debug build aborts if the lock is free.
 *
 * Requires: The calling thread must hold the lock.
 */
void ly_pvticket_unlock(struct ly_pvticket_t *lock) LY_NOEXCEPT;

/**
 * Returns true if the lock is held. The answer may be stale when it returns. Cost: one load.
 *
 * Requires: `lock` must be initialised.
 */
LY_MUST_USE bool ly_pvticket_is_locked(const struct ly_pvticket_t *lock) LY_NOEXCEPT;

/**
 * Makes a count of `count` references, with a free lock, as `LY_LOCKREF_INIT` does. Cost: one
 * store. Aborts if `count` exceeds 2^30.
 *
 * Requires: `lockref` must point to memory for a lockref that no thread uses.
 */
void ly_lockref_init(struct ly_lockref_t *lockref, uint32_t count) LY_NOEXCEPT;

/**
 * Ends the life of a count. Cost: nothing; it frees nothing. A debug build aborts if its lock is
 * held.
 *
 * Requires: `lockref` must be initialised, its lock must be free, and no thread may use it any
 * more.
 */
void ly_lockref_destroy(struct ly_lockref_t *lockref) LY_NOEXCEPT;

/**
 * Takes a reference. Cost without contention: one compare-exchange. Never fails. A debug build
 * aborts if the object is dead.
 *
 * Requires: `lockref` must be initialised. The caller must have a reference, or must know that the
 * object is
 * alive.
 */
void ly_lockref_get(struct ly_lockref_t *lockref) LY_NOEXCEPT;

/**
 * Takes a reference unless there is none, or the object is dead. Returns true if it did. Cost
 * without contention: one compare-exchange.
 *
 * Requires: `lockref` must be initialised, and its memory must not be freed during the call.
 */
LY_MUST_USE bool ly_lockref_get_not_zero(struct ly_lockref_t *lockref) LY_NOEXCEPT;

/**
 * Takes a reference unless the object is dead. Returns true if it did. Cost without contention:
 * one compare-exchange.
 *
 * Requires: The same as for `ly_lockref_get_not_zero`.
 */
LY_MUST_USE bool ly_lockref_get_not_dead(struct ly_lockref_t *lockref) LY_NOEXCEPT;

/**
 * Drops a reference without taking the lock, and returns how many are left. Returns
 * `LY_LOCKREF_REFUSED` and drops nothing if the lock was held, if there was much contention, if
 * there was no reference, or if the object is dead. Returns a number above 2^30 if the count is
 * saturated. Cost without contention: one compare-exchange.
 *
 * Requires: `lockref` must be initialised, and the caller must have a reference.
 */
LY_MUST_USE int64_t ly_lockref_put_return(struct ly_lockref_t *lockref) LY_NOEXCEPT;

/**
 * Drops a reference unless it is the last, there is none, or the object is dead. Returns true if
 * it did. Cost without contention: one compare-exchange.
 *
 * Requires: The same as for `ly_lockref_put_return`.
 */
LY_MUST_USE bool ly_lockref_put_not_zero(struct ly_lockref_t *lockref) LY_NOEXCEPT;

/**
 * Drops a reference and returns true, unless it is the last (or there is none, or the object is
 * dead). Then it drops nothing and returns false, with the lock held: the caller decides about the
 * object, and calls `ly_lockref_unlock`. Cost without contention: one compare-exchange.
 *
 * Requires: The same as for `ly_lockref_put_return`; the calling thread must not hold the lock.
 */
LY_MUST_USE bool ly_lockref_put_or_lock(struct ly_lockref_t *lockref) LY_NOEXCEPT;

/**
 * Takes the lock, waiting until it is free. Until the release no other thread changes the count.
 * Cost without contention: one compare-exchange. Never fails.
 *
 * Requires: `lockref` must be initialised, and the calling thread must not hold its lock.
 */
void ly_lockref_lock(struct ly_lockref_t *lockref) LY_NOEXCEPT;

/**
 * Takes the lock if it is free. Returns true if it did. Cost: one load, and one compare-exchange
 * if it was free.
 *
 * Requires: `lockref` must be initialised.
 */
LY_MUST_USE bool ly_lockref_trylock(struct ly_lockref_t *lockref) LY_NOEXCEPT;

/**
 * Releases the lock. Cost: one plain store. Never fails. A debug build aborts if the lock is free.
 *
 * Requires: The calling thread must hold the lock.
 */
void ly_lockref_unlock(struct ly_lockref_t *lockref) LY_NOEXCEPT;

/**
 * Marks the object dead: no reference can be taken or dropped any more. Cost: one locked addition.
 * Never fails. A debug build aborts if the lock is free.
 *
 * Requires: The calling thread must hold the lock.
 */
void ly_lockref_mark_dead(struct ly_lockref_t *lockref) LY_NOEXCEPT;

/**
 * Sets the count. A saturated count stays so. Cost: one locked addition. Aborts if `count` exceeds
 * 2^30, or if the object is dead; a debug build aborts if the lock is free.
 *
 * Requires: The calling thread must hold the lock.
 */
void ly_lockref_set_count(struct ly_lockref_t *lockref, uint32_t count) LY_NOEXCEPT;

/**
 * Returns the number of references, `LY_LOCKREF_DEAD` or `LY_LOCKREF_SATURATED`. The answer may be
 * stale when it returns, unless the caller holds the lock. Cost: one load.
 *
 * Requires: `lockref` must be initialised.
 */
LY_MUST_USE int64_t ly_lockref_count(const struct ly_lockref_t *lockref) LY_NOEXCEPT;

/**
 * Returns true if the lock is held. The answer may be stale when it returns. Cost: one load.
 *
 * Requires: `lockref` must be initialised.
 */
LY_MUST_USE bool ly_lockref_is_locked(const struct ly_lockref_t *lockref) LY_NOEXCEPT;

/**
 * Makes a count of `references`, as `LY_PAGEREF_INIT` does. Cost: one store. Aborts if
 * `references` is 0 or exceeds 2^30.
 *
 * Requires: `pageref` must point to memory for a count that no thread uses.
 */
void ly_pageref_init(struct ly_pageref_t *pageref, uint32_t references) LY_NOEXCEPT;

/**
 * Takes a reference. Cost: one locked addition. Never fails. A debug build aborts if there is no
 * reference.
 *
 * Requires: `pageref` must be initialised. The caller, or another thread during the call, must have
 * a
 * reference.
 */
void ly_pageref_get(struct ly_pageref_t *pageref) LY_NOEXCEPT;

/**
 * Takes a reference unless there is none. Returns true if it did. Cost: one load, and one
 * compare-exchange for each attempt.
 *
 * Requires: `pageref` must be initialised, and its memory must not be freed during the call.
 */
LY_MUST_USE bool ly_pageref_get_not_zero(struct ly_pageref_t *pageref) LY_NOEXCEPT;

/**
 * Drops a reference. Returns true if it was the last: the caller then has exclusive access to the
 * object, and may free it with the count. Cost: one locked subtraction. A debug build aborts if
 * there is no reference.
 *
 * Requires: `pageref` must be initialised, and the caller must have a reference.
 */
LY_MUST_USE bool ly_pageref_put(struct ly_pageref_t *pageref) LY_NOEXCEPT;

/**
 * Takes all references away if there are exactly `expected`, all of them the caller's. Returns
 * true if it did: until `ly_pageref_unfreeze` no reference can be taken. Cost: one
 * compare-exchange. Aborts if `expected` is 0 or exceeds 2^30.
 *
 * Requires: The same as for `ly_pageref_put`.
 */
LY_MUST_USE bool ly_pageref_try_freeze(struct ly_pageref_t *pageref, uint32_t expected) LY_NOEXCEPT;

/**
 * Ends a freeze, with `references` references. Cost: one store. Aborts if `references` is 0 or
 * exceeds 2^30; a debug build aborts if the count is not frozen.
 *
 * Requires: The caller must have frozen the count.
 */
void ly_pageref_unfreeze(struct ly_pageref_t *pageref, uint32_t references) LY_NOEXCEPT;

/**
 * Returns the number of references, `LY_PAGEREF_FROZEN` or `LY_PAGEREF_SATURATED`. The answer may
 * be stale when it returns. Cost: one load.
 *
 * Requires: `pageref` must be initialised.
 */
LY_MUST_USE int64_t ly_pageref_references(const struct ly_pageref_t *pageref) LY_NOEXCEPT;

/**
 * Makes a domain without readers. Returns NULL if there is no memory. Cost: one allocation.
 */
LY_MUST_USE struct ly_reclaim_t *ly_reclaim_create(void) LY_NOEXCEPT;

/**
 * Frees all objects that wait, and the domain. Does nothing with NULL. Never waits.
 *
 * Requires: `domain` must come from `ly_reclaim_create`. No thread may be inside the domain or use
 * it any
 * more.
 */
void ly_reclaim_destroy(struct ly_reclaim_t *domain) LY_NOEXCEPT;

/**
 * Enters a domain. Until the guard is left, no object that can be reached from now on is freed.
 * Never waits, never fails. Guards nest. Cost: one store to a line of the thread, and one fence.
 * The first call in a thread may allocate; without memory, guards cost two locked operations.
 *
 * Requires: `domain` must come from `ly_reclaim_create`. `guard` must point to memory for a guard
 * that is
 * not in use. It must stay in this thread.
 */
void ly_reclaim_enter(struct ly_reclaim_t *domain, struct ly_reclaim_guard_t *guard) LY_NOEXCEPT;

/**
 * Leaves the domain. Cost: one store to a line of the thread. Never fails. A debug build aborts if
 * the guard was left before.
 *
 * Requires: This thread must have filled `guard` by `ly_reclaim_enter`, and must no longer use
 * anything that
 * it has reached since, unless another guard protects it.
 */
void ly_reclaim_leave(struct ly_reclaim_guard_t *guard) LY_NOEXCEPT;

/**
 * Leaves the domain and enters it again, without effect if the thread has another guard. Cost: one
 * load, and as `ly_reclaim_enter` if a grace period has ended in between.
 *
 * Requires: The same as for `ly_reclaim_leave`.
 */
void ly_reclaim_quiescent(struct ly_reclaim_guard_t *guard) LY_NOEXCEPT;

/**
 * Retires an object: `free` is called with `head` once all guards that exist now are left. Needs
 * no memory, never waits, never fails. Cost: one fence and two locked operations on a line of the
 * thread; one call in 64 scans all threads, and frees.
 *
 * Requires: `head` must be part of an object that no reader can find any more. The object must be
 * retired
 * only once, and all its readers must have reached it inside guards of `domain`. `free` must be
 * safe to call with `head` from now on, in any thread.
 */
void ly_reclaim_retire(struct ly_reclaim_t *domain,
                       struct ly_reclaim_head_t *head,
                       ly_reclaim_free_fn free)
LY_NOEXCEPT;

/**
 * As `ly_reclaim_retire`, but never calls a `free` function itself: for signal handlers. Objects
 * wait until another call of this thread frees, or until `ly_reclaim_collect` or
 * `ly_reclaim_barrier`.
 *
 * Requires: The same as for `ly_reclaim_retire`.
 */
void ly_reclaim_retire_later(struct ly_reclaim_t *domain,
                             struct ly_reclaim_head_t *head,
                             ly_reclaim_free_fn free)
LY_NOEXCEPT;

/**
 * Waits until all guards that exist now are left. Cost: waits for the longest reader, twice; two
 * scans of all threads. Aborts if the calling thread has a guard of the domain.
 *
 * Requires: `domain` must come from `ly_reclaim_create`. The caller must not be a `free` function.
 */
void ly_reclaim_synchronize(struct ly_reclaim_t *domain) LY_NOEXCEPT;

/**
 * As `ly_reclaim_synchronize`, but gives up after `looks` scans that found a reader inside, and
 * yields after each. Returns false if it gave up. The calling thread may have a guard.
 *
 * Requires: `domain` must come from `ly_reclaim_create`.
 */
LY_MUST_USE
bool ly_reclaim_try_synchronize(struct ly_reclaim_t *domain,
                                uint32_t looks)
LY_NOEXCEPT;

/**
 * Waits until all objects that were retired before the call are freed. Cost and aborts: as
 * `ly_reclaim_synchronize`.
 *
 * Requires: The same as for `ly_reclaim_synchronize`.
 */
void ly_reclaim_barrier(struct ly_reclaim_t *domain) LY_NOEXCEPT;

/**
 * Frees every object that can be freed now. Returns their number. Never waits. Cost: two scans of
 * all threads.
 *
 * Requires: `domain` must come from `ly_reclaim_create`.
 */
size_t ly_reclaim_collect(struct ly_reclaim_t *domain) LY_NOEXCEPT;

/**
 * Returns the number of objects that wait to be freed. Exact while no thread retires or frees.
 * Cost: a scan of all threads.
 *
 * Requires: `domain` must come from `ly_reclaim_create`.
 */
LY_MUST_USE uint64_t ly_reclaim_pending(const struct ly_reclaim_t *domain) LY_NOEXCEPT;

/**
 * Allocates now the memory that `slots` threads need to enter, so that entering does not allocate.
 * Returns false if there is no memory. Cost: some allocations.
 *
 * Requires: `domain` must come from `ly_reclaim_create`.
 */
LY_MUST_USE bool ly_reclaim_reserve(struct ly_reclaim_t *domain, uint32_t slots) LY_NOEXCEPT;

/**
 * Makes counters that are zero. Returns NULL if there is no memory. Cost: two allocations.
 */
LY_MUST_USE struct ly_stats_t *ly_stats_create(void) LY_NOEXCEPT;

/**
 * Frees counters. Does nothing with NULL.
 *
 * Requires: `stats` must come from `ly_stats_create`, and no thread may use it any more.
 */
void ly_stats_destroy(struct ly_stats_t *stats) LY_NOEXCEPT;

/**
 * Adds `counts`. Cost: a lock of the record of this thread's node. The first update of a further
 * node allocates; without memory it is added to the first node's record. Never fails.
 *
 * Requires: `stats` must come from `ly_stats_create`. The caller must not be a signal handler that
 * interrupted an update of the same counters.
 */
void ly_stats_update(struct ly_stats_t *stats, const struct ly_counts_t *counts) LY_NOEXCEPT;

/**
 * Returns the sum. Every update that ended before the call is in it. Cost: a transfer of each
 * node's line. Never fails.
 *
 * Requires: The same as for `ly_stats_update`.
 */
LY_MUST_USE struct ly_counts_t ly_stats_read(struct ly_stats_t *stats) LY_NOEXCEPT;

/**
 * Returns the sum and sets the counters to zero. Each update is in one result. Cost: as
 * `ly_stats_read`. Never fails.
 *
 * Requires: The same as for `ly_stats_update`.
 */
LY_MUST_USE struct ly_counts_t ly_stats_take(struct ly_stats_t *stats) LY_NOEXCEPT;

/**
 * Makes an empty table for identifiers below `limit`; 0 means the maximum, 2^31 - 16. `drop` is
 * called with each pointer that is still there when the table is destroyed; it may be NULL.
 * Returns NULL if there is no memory. Cost: one allocation.
 *
 * Requires: `drop` must be safe to call with each inserted pointer.
 */
LY_MUST_USE struct ly_ids_t *ly_ids_create(uint32_t limit, ly_drop_fn drop) LY_NOEXCEPT;

/**
 * Frees a table, and calls its `drop` function with each pointer. Does nothing with NULL.
 *
 * Requires: `ids` must come from `ly_ids_create`, and no thread may use it or an entry of it any
 * more.
 */
void ly_ids_destroy(struct ly_ids_t *ids) LY_NOEXCEPT;

/**
 * Gives `value` the lowest free identifier, and stores that in `id`. Returns 0, EINVAL if `value`
 * is NULL, ENOSPC if no identifier is free, or ENOMEM; the table is then unchanged. Cost: one
 * allocation and the table's lock.
 *
 * Requires: `ids` must come from `ly_ids_create`; `id` must point to memory for a number.
 */
LY_MUST_USE int ly_ids_insert(struct ly_ids_t *ids, void *value, uint32_t *id) LY_NOEXCEPT;

/**
 * Finds an object and takes its lock, waiting while another thread has it. Returns its pointer, or
 * NULL if there is none; then `entry` stays empty. Cost: one fence, three dependent loads, and the
 * object's lock.
 *
 * Requires: `ids` must come from `ly_ids_create`. `entry` must point to memory for an entry that is
 * not in
 * use. It must stay in this thread. The thread must not hold this object's lock.
 */
LY_MUST_USE
void *ly_ids_find(struct ly_ids_t *ids,
                  uint32_t id,
                  struct ly_ids_entry_t *entry)
LY_NOEXCEPT;

/**
 * Releases the object of an entry. Cost: one store for the lock, and one for the reader. Never
 * fails. A debug build aborts if the entry is empty.
 *
 * Requires: This thread must have filled `entry` by `ly_ids_find`.
 */
void ly_ids_release(struct ly_ids_entry_t *entry) LY_NOEXCEPT;

/**
 * Returns the identifier of an entry. Cost: one load. A debug build aborts if the entry is empty.
 *
 * Requires: The same as for `ly_ids_release`.
 */
LY_MUST_USE uint32_t ly_ids_id(const struct ly_ids_entry_t *entry) LY_NOEXCEPT;

/**
 * Removes the object of an entry from the table, releases it and returns its pointer, which is now
 * the caller's alone. Its identifier is free. Cost: the table's lock, and a retirement. Never
 * fails. A debug build aborts if the entry is empty.
 *
 * Requires: The same as for `ly_ids_release`.
 */
void *ly_ids_remove_found(struct ly_ids_entry_t *entry) LY_NOEXCEPT;

/**
 * Removes an object and returns its pointer, which is now the caller's alone, or NULL if there is
 * none. Waits while another thread has the object. Cost: a look-up, the table's lock, and a
 * retirement.
 *
 * Requires: The same as for `ly_ids_find`.
 */
void *ly_ids_remove(struct ly_ids_t *ids, uint32_t id) LY_NOEXCEPT;

/**
 * Returns the number of objects. The answer may be stale when it returns. Cost: one load.
 *
 * Requires: `ids` must come from `ly_ids_create`.
 */
LY_MUST_USE size_t ly_ids_count(const struct ly_ids_t *ids) LY_NOEXCEPT;

/**
 * Makes an empty table with 2^`bits` buckets, `bits` from 1 to 27; 0 means 12. One bucket for a
 * connection is enough. `drop` is called with the pointer of each connection whose last reference
 * is gone after it has left the table; it may be NULL. Returns NULL if `bits` is out of range, or
 * if there is no memory. Cost: one allocation; the first insertion allocates the buckets.
 *
 * Requires: `drop` must be safe to call with each inserted pointer.
 */
LY_MUST_USE struct ly_conns_t *ly_conns_create(uint32_t bits, ly_drop_fn drop) LY_NOEXCEPT;

/**
 * Frees a table with its connections. Does nothing with NULL.
 *
 * Requires: `conns` must come from `ly_conns_create`. No thread may use it or a reference to a
 * connection
 * any more.
 */
void ly_conns_destroy(struct ly_conns_t *conns) LY_NOEXCEPT;

/**
 * Inserts a connection, found by `tuple` and by its reverse, that expires at `deadline`, in the
 * caller's unit; UINT64_MAX means never. Returns 0, EEXIST if there is one, or ENOMEM. With 0 and
 * EEXIST, `conn` gets a reference to the connection that is there. Unless it returns 0, `value`
 * stays the caller's. Cost: one allocation, a bucket's lock, and a walk along its chain. Aborts if
 * a family is neither `LY_IPV4` nor `LY_IPV6`.
 *
 * Requires: `conns` must come from `ly_conns_create`. `conn` must point to memory for a reference
 * that is
 * not in use.
 */
LY_MUST_USE
int ly_conns_insert(struct ly_conns_t *conns,
                    const struct ly_tuple_t *tuple,
                    void *value,
                    uint64_t deadline,
                    struct ly_conn_t *conn)
LY_NOEXCEPT;

/**
 * Finds the connection of a packet. Returns true if there is one: `conn` gets a reference to it,
 * and `is_reply`, if not NULL, says whether the packet goes in the other direction than the
 * inserted tuple. Cost: a hash, one or two lines for each entry of the chain up to it, and a
 * locked operation. Aborts as `ly_conns_insert`.
 *
 * Requires: The same as for `ly_conns_insert`.
 */
LY_MUST_USE
bool ly_conns_find(struct ly_conns_t *conns,
                   const struct ly_tuple_t *tuple,
                   struct ly_conn_t *conn,
                   bool *is_reply)
LY_NOEXCEPT;

/**
 * Removes the connection of a packet from the table. Returns true if it did. References to it stay
 * valid. Cost: a look-up, and a bucket's lock. Aborts as `ly_conns_insert`.
 *
 * Requires: The same as for `ly_conns_insert`.
 */
bool ly_conns_remove(struct ly_conns_t *conns, const struct ly_tuple_t *tuple) LY_NOEXCEPT;

/**
 * Removes connections whose deadline is `now` or before from the next `buckets` buckets; SIZE_MAX
 * means all. Returns their number. Each call begins where the last one of any thread ended. Cost:
 * the lock of each bucket that is not empty, and a walk along its chain.
 *
 * Requires: `conns` must come from `ly_conns_create`.
 */
size_t ly_conns_expire(struct ly_conns_t *conns, uint64_t now, size_t buckets) LY_NOEXCEPT;

/**
 * Returns the number of connections. Exact while no thread inserts or removes. Cost: reads every
 * bucket.
 *
 * Requires: `conns` must come from `ly_conns_create`.
 */
LY_MUST_USE size_t ly_conns_count(const struct ly_conns_t *conns) LY_NOEXCEPT;

/**
 * Returns the pointer of a connection. Cost: one load. A debug build aborts if `conn` is empty.
 *
 * Requires: `conn` must be filled, and must not be emptied meanwhile. It may be used by several
 * threads.
 */
LY_MUST_USE void *ly_conn_value(const struct ly_conn_t *conn) LY_NOEXCEPT;

/**
 * Moves the deadline of a connection to `until`, unless it is later already. Returns true if the
 * connection is in the table. Cost: one load, and one locked operation if the deadline moves.
 *
 * Requires: The same as for `ly_conn_value`.
 */
bool ly_conn_renew(const struct ly_conn_t *conn, uint64_t until) LY_NOEXCEPT;

/**
 * Makes another reference to a connection. Cost: one locked addition. Never fails.
 *
 * Requires: The same as for `ly_conn_value`. `copy` must point to memory for a reference that is
 * not in use.
 */
void ly_conn_clone(const struct ly_conn_t *conn, struct ly_conn_t *copy) LY_NOEXCEPT;

/**
 * Drops a reference to a connection. The last one of a connection that has left the table calls
 * the table's `drop` function. Cost: one locked subtraction. Never fails. A debug build aborts if
 * `conn` is empty.
 *
 * Requires: `conn` must be filled, and the table must still exist.
 */
void ly_conn_release(struct ly_conn_t *conn) LY_NOEXCEPT;

/**
 * Makes an empty cache for `limit` buffers; 0 means no limit. `drop` is called with the pointer of
 * each buffer whose last reference is gone, the cache's included; it may be NULL. Returns NULL if
 * there is no memory. Cost: one allocation.
 *
 * Requires: `drop` must be safe to call with each pointer that a `fill` function stores.
 */
LY_MUST_USE struct ly_bufs_t *ly_bufs_create(uint64_t limit, ly_drop_fn drop) LY_NOEXCEPT;

/**
 * Frees a cache with its buffers. Does nothing with NULL.
 *
 * Requires: `bufs` must come from `ly_bufs_create`. No thread may use it or a reference to a buffer
 * any
 * more.
 */
void ly_bufs_destroy(struct ly_bufs_t *bufs) LY_NOEXCEPT;

/**
 * Finds the buffer of a key, or makes it by `fill`. If several threads want it at the same time,
 * one fills it and the others wait. Returns 0 (then `buf` gets a reference), ENOMEM, ENOSPC if the
 * limit is reached and all buffers are referenced, EINVAL if `fill` is NULL and there is no
 * buffer, or the result of `fill`. Cost of a hit: one fence, one or two lines for each buffer on
 * the way, and a compare-exchange. Cost of a miss: one allocation and a lock.
 *
 * Requires: `bufs` must come from `ly_bufs_create`. `buf` must point to memory for a reference that
 * is not
 * in use. `fill` must be safe to call with `argument`.
 */
LY_MUST_USE
int ly_bufs_get(struct ly_bufs_t *bufs,
                uint32_t group,
                uint64_t block,
                ly_fill_fn fill,
                void *argument,
                struct ly_buf_t *buf)
LY_NOEXCEPT;

/**
 * Finds the buffer of a key, and waits while it is being filled. Returns true if there is one:
 * `buf` gets a reference. Cost: as a hit of `ly_bufs_get`.
 *
 * Requires: The same as for `ly_bufs_get`.
 */
LY_MUST_USE
bool ly_bufs_find(struct ly_bufs_t *bufs,
                  uint32_t group,
                  uint64_t block,
                  struct ly_buf_t *buf)
LY_NOEXCEPT;

/**
 * Removes the buffer of a key from the cache. Returns true if it did. References to it stay valid.
 * Waits while it is being filled. Cost: a lock.
 *
 * Requires: `bufs` must come from `ly_bufs_create`.
 */
bool ly_bufs_remove(struct ly_bufs_t *bufs, uint32_t group, uint64_t block) LY_NOEXCEPT;

/**
 * Frees up to `buffers` buffers that no thread references, the least recently used first. Returns
 * the number. Cost: a lock for each 16 examined buffers.
 *
 * Requires: `bufs` must come from `ly_bufs_create`.
 */
size_t ly_bufs_reclaim(struct ly_bufs_t *bufs, size_t buffers) LY_NOEXCEPT;

/**
 * Returns the number of buffers in the cache. Exact while no thread changes it. Cost: reads every
 * shard.
 *
 * Requires: `bufs` must come from `ly_bufs_create`.
 */
LY_MUST_USE size_t ly_bufs_count(const struct ly_bufs_t *bufs) LY_NOEXCEPT;

/**
 * Returns the pointer of a buffer. Cost: one load. A debug build aborts if `buf` is empty.
 *
 * Requires: `buf` must be filled, and must not be emptied meanwhile. It may be used by several
 * threads.
 */
LY_MUST_USE void *ly_buf_value(const struct ly_buf_t *buf) LY_NOEXCEPT;

/**
 * Makes another reference to a buffer. Cost: one compare-exchange. Never fails.
 *
 * Requires: The same as for `ly_buf_value`. `copy` must point to memory for a reference that is not
 * in use.
 */
void ly_buf_clone(const struct ly_buf_t *buf, struct ly_buf_t *copy) LY_NOEXCEPT;

/**
 * Drops a reference to a buffer. The buffer stays in the cache. The last reference of a buffer
 * that has left the cache calls its `drop` function. Cost: one compare-exchange. Never fails. A
 * debug build aborts if `buf` is empty.
 *
 * Requires: `buf` must be filled, and the cache must still exist.
 */
void ly_buf_release(struct ly_buf_t *buf) LY_NOEXCEPT;

/**
 * Only for this header, under the thread sanitizer: sets a function that is called around
 * functions of the program and allocations. Returns the address that it gets. Cost: one store.
 *
 * Requires: `hook` must be safe to call at any time, in any thread.
 */
void *ly_hook_(ly_hook_fn_ hook) LY_NOEXCEPT;

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#if defined(__SANITIZE_THREAD__)
#define LY_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LY_THREAD_SANITIZER 1
#endif
#endif

#ifdef LY_THREAD_SANITIZER
/*
 * What the thread sanitizer must know: which calls take and release a lock, and which calls order
 * memory. Tables, domains and all memory that the library allocates count as one object, so a race
 * between two of them may be missed; none is invented.
 */
#include <sanitizer/tsan_interface.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LY_TSAN_LOCK_(kind)                                                                 \
  static inline void ly_tsan_##kind##_init(ly_##kind##_t *lock) LY_NOEXCEPT {               \
    ly_##kind##_init(lock);                                                                 \
    __tsan_mutex_create(lock, 0);                                                           \
  }                                                                                         \
  static inline void ly_tsan_##kind##_destroy(ly_##kind##_t *lock) LY_NOEXCEPT {            \
    ly_##kind##_destroy(lock);                                                              \
    __tsan_mutex_destroy(lock, 0);                                                          \
  }                                                                                         \
  static inline void ly_tsan_##kind##_lock(ly_##kind##_t *lock) LY_NOEXCEPT {               \
    __tsan_mutex_pre_lock(lock, 0);                                                         \
    ly_##kind##_lock(lock);                                                                 \
    __tsan_mutex_post_lock(lock, 0, 0);                                                     \
  }                                                                                         \
  static inline bool ly_tsan_##kind##_trylock(ly_##kind##_t *lock) LY_NOEXCEPT {            \
    __tsan_mutex_pre_lock(lock, __tsan_mutex_try_lock);                                     \
    return ly_tsan_tried_(lock, ly_##kind##_trylock(lock));                                 \
  }                                                                                         \
  static inline void ly_tsan_##kind##_unlock(ly_##kind##_t *lock) LY_NOEXCEPT {             \
    __tsan_mutex_pre_unlock(lock, 0);                                                       \
    ly_##kind##_unlock(lock);                                                               \
    __tsan_mutex_post_unlock(lock, 0);                                                      \
  }
#define LY_TSAN_TIMED_(kind)                                                                \
  static inline bool ly_tsan_##kind##_timedlock(ly_##kind##_t *lock,                        \
                                                uint64_t nanoseconds) LY_NOEXCEPT {         \
    __tsan_mutex_pre_lock(lock, __tsan_mutex_try_lock);                                     \
    return ly_tsan_tried_(lock, ly_##kind##_timedlock(lock, nanoseconds));                  \
  }
#define LY_TSAN_FAIR_(kind)                                                                 \
  static inline void ly_tsan_##kind##_unlock_fair(ly_##kind##_t *lock) LY_NOEXCEPT {        \
    __tsan_mutex_pre_unlock(lock, 0);                                                       \
    ly_##kind##_unlock_fair(lock);                                                          \
    __tsan_mutex_post_unlock(lock, 0);                                                      \
  }

static inline bool ly_tsan_tried_(void *lock, bool taken) LY_NOEXCEPT {
  __tsan_mutex_post_lock(
      lock, __tsan_mutex_try_lock | (taken ? 0u : __tsan_mutex_try_lock_failed), 0);
  return taken;
}

LY_TSAN_LOCK_(mutex)
LY_TSAN_TIMED_(mutex)
LY_TSAN_FAIR_(mutex)
LY_TSAN_LOCK_(qspin)
LY_TSAN_LOCK_(ticket)
LY_TSAN_LOCK_(tas)
LY_TSAN_TIMED_(tas)
LY_TSAN_LOCK_(pvqspin)
LY_TSAN_TIMED_(pvqspin)
LY_TSAN_FAIR_(pvqspin)
LY_TSAN_LOCK_(pvticket)
#undef LY_TSAN_LOCK_
#undef LY_TSAN_TIMED_
#undef LY_TSAN_FAIR_

static inline void ly_tsan_cond_wait(ly_cond_t *cond, ly_mutex_t *mutex) LY_NOEXCEPT {
  __tsan_mutex_pre_unlock(mutex, 0);
  __tsan_mutex_post_unlock(mutex, 0);
  __tsan_mutex_pre_lock(mutex, 0);
  ly_cond_wait(cond, mutex);
  __tsan_mutex_post_lock(mutex, 0, 0);
}
static inline bool ly_tsan_cond_timedwait(ly_cond_t *cond, ly_mutex_t *mutex,
                                          uint64_t nanoseconds) LY_NOEXCEPT {
  __tsan_mutex_pre_unlock(mutex, 0);
  __tsan_mutex_post_unlock(mutex, 0);
  __tsan_mutex_pre_lock(mutex, 0);
  bool notified = ly_cond_timedwait(cond, mutex, nanoseconds);
  __tsan_mutex_post_lock(mutex, 0, 0);
  return notified;
}

/*
 * The sanitizer's release of a mutex replaces what other threads released at the address of the
 * mutex meanwhile. So the count has an address of its own. A lock acquires what puts released, and
 * gets acquire what an unlock released.
 */
static inline void *ly_tsan_count_(void *lockref) LY_NOEXCEPT {
#ifdef __cplusplus
  return static_cast<char *>(lockref) + 4;
#else
  return (char *)lockref + 4;
#endif
}
static inline void ly_tsan_lockref_lock(ly_lockref_t *lockref) LY_NOEXCEPT {
  __tsan_mutex_pre_lock(lockref, 0);
  ly_lockref_lock(lockref);
  __tsan_mutex_post_lock(lockref, 0, 0);
  __tsan_acquire(ly_tsan_count_(lockref));
}
static inline bool ly_tsan_lockref_trylock(ly_lockref_t *lockref) LY_NOEXCEPT {
  __tsan_mutex_pre_lock(lockref, __tsan_mutex_try_lock);
  bool taken = ly_tsan_tried_(lockref, ly_lockref_trylock(lockref));
  if (taken) __tsan_acquire(ly_tsan_count_(lockref));
  return taken;
}
static inline void ly_tsan_lockref_unlock(ly_lockref_t *lockref) LY_NOEXCEPT {
  __tsan_release(ly_tsan_count_(lockref));
  __tsan_mutex_pre_unlock(lockref, 0);
  ly_lockref_unlock(lockref);
  __tsan_mutex_post_unlock(lockref, 0);
}
static inline bool ly_tsan_lockref_get_not_zero(ly_lockref_t *lockref) LY_NOEXCEPT {
  bool got = ly_lockref_get_not_zero(lockref);
  if (got) __tsan_acquire(ly_tsan_count_(lockref));
  return got;
}
static inline bool ly_tsan_lockref_get_not_dead(ly_lockref_t *lockref) LY_NOEXCEPT {
  bool got = ly_lockref_get_not_dead(lockref);
  if (got) __tsan_acquire(ly_tsan_count_(lockref));
  return got;
}
static inline int64_t ly_tsan_lockref_put_return(ly_lockref_t *lockref) LY_NOEXCEPT {
  __tsan_release(ly_tsan_count_(lockref));
  int64_t left = ly_lockref_put_return(lockref);
  if (left == 0) __tsan_acquire(ly_tsan_count_(lockref));
  return left;
}
static inline bool ly_tsan_lockref_put_not_zero(ly_lockref_t *lockref) LY_NOEXCEPT {
  __tsan_release(ly_tsan_count_(lockref));
  return ly_lockref_put_not_zero(lockref);
}
static inline bool ly_tsan_lockref_put_or_lock(ly_lockref_t *lockref) LY_NOEXCEPT {
  __tsan_release(ly_tsan_count_(lockref));
  __tsan_mutex_pre_lock(lockref, __tsan_mutex_try_lock);
  bool taken = ly_tsan_tried_(lockref, !ly_lockref_put_or_lock(lockref));
  if (taken) __tsan_acquire(ly_tsan_count_(lockref));
  return !taken;
}

static inline bool ly_tsan_pageref_get_not_zero(ly_pageref_t *pageref) LY_NOEXCEPT {
  bool got = ly_pageref_get_not_zero(pageref);
  if (got) __tsan_acquire(pageref);
  return got;
}
static inline bool ly_tsan_pageref_put(ly_pageref_t *pageref) LY_NOEXCEPT {
  __tsan_release(pageref);
  bool last = ly_pageref_put(pageref);
  if (last) __tsan_acquire(pageref);
  return last;
}
static inline bool ly_tsan_pageref_try_freeze(ly_pageref_t *pageref,
                                              uint32_t expected) LY_NOEXCEPT {
  bool frozen = ly_pageref_try_freeze(pageref, expected);
  if (frozen) __tsan_acquire(pageref);
  return frozen;
}
static inline void ly_tsan_pageref_unfreeze(ly_pageref_t *pageref,
                                            uint32_t references) LY_NOEXCEPT {
  __tsan_release(pageref);
  ly_pageref_unfreeze(pageref, references);
}

/*
 * Tables and domains: each call, and each function that they call, orders one address. A call does
 * so on both sides. The sanitizer sees what the library itself allocates and frees, so the library
 * orders that too, by the same hook.
 */
static inline void ly_tsan_hook_(void *address, bool is_after) LY_NOEXCEPT {
  if (is_after) {
    __tsan_release(address);
  } else {
    __tsan_acquire(address);
  }
}
static inline void ly_tsan_both_(void) LY_NOEXCEPT {
  void *address = ly_hook_(ly_tsan_hook_);
  __tsan_acquire(address);
  __tsan_release(address);
}

#define LY_TSAN_0_(name, parameters, arguments)                                             \
  static inline void ly_tsan_##name parameters LY_NOEXCEPT {                                \
    ly_tsan_both_();                                                                        \
    ly_##name arguments;                                                                    \
    ly_tsan_both_();                                                                        \
  }
#define LY_TSAN_1_(type, name, parameters, arguments)                                       \
  static inline type ly_tsan_##name parameters LY_NOEXCEPT {                                \
    ly_tsan_both_();                                                                        \
    type result = ly_##name arguments;                                                      \
    ly_tsan_both_();                                                                        \
    return result;                                                                          \
  }

LY_TSAN_0_(reclaim_destroy, (ly_reclaim_t *domain), (domain))
LY_TSAN_0_(reclaim_leave, (ly_reclaim_guard_t *guard), (guard))
LY_TSAN_0_(reclaim_quiescent, (ly_reclaim_guard_t *guard), (guard))
LY_TSAN_0_(reclaim_retire,
           (ly_reclaim_t *domain, ly_reclaim_head_t *head, ly_reclaim_free_fn free),
           (domain, head, free))
LY_TSAN_0_(reclaim_retire_later,
           (ly_reclaim_t *domain, ly_reclaim_head_t *head, ly_reclaim_free_fn free),
           (domain, head, free))
LY_TSAN_0_(reclaim_synchronize, (ly_reclaim_t *domain), (domain))
LY_TSAN_1_(bool, reclaim_try_synchronize, (ly_reclaim_t *domain, uint32_t looks),
           (domain, looks))
LY_TSAN_0_(reclaim_barrier, (ly_reclaim_t *domain), (domain))
LY_TSAN_1_(size_t, reclaim_collect, (ly_reclaim_t *domain), (domain))
LY_TSAN_0_(ids_destroy, (ly_ids_t *ids), (ids))
LY_TSAN_1_(int, ids_insert, (ly_ids_t *ids, void *value, uint32_t *id), (ids, value, id))
LY_TSAN_1_(void *, ids_find, (ly_ids_t *ids, uint32_t id, ly_ids_entry_t *entry),
           (ids, id, entry))
LY_TSAN_0_(ids_release, (ly_ids_entry_t *entry), (entry))
LY_TSAN_1_(void *, ids_remove_found, (ly_ids_entry_t *entry), (entry))
LY_TSAN_1_(void *, ids_remove, (ly_ids_t *ids, uint32_t id), (ids, id))
LY_TSAN_0_(conns_destroy, (ly_conns_t *conns), (conns))
LY_TSAN_1_(int, conns_insert,
           (ly_conns_t *conns, const ly_tuple_t *tuple, void *value, uint64_t deadline,
            ly_conn_t *conn),
           (conns, tuple, value, deadline, conn))
LY_TSAN_1_(bool, conns_find,
           (ly_conns_t *conns, const ly_tuple_t *tuple, ly_conn_t *conn, bool *is_reply),
           (conns, tuple, conn, is_reply))
LY_TSAN_1_(bool, conns_remove, (ly_conns_t *conns, const ly_tuple_t *tuple), (conns, tuple))
LY_TSAN_1_(size_t, conns_expire, (ly_conns_t *conns, uint64_t now, size_t buckets),
           (conns, now, buckets))
LY_TSAN_0_(conn_release, (ly_conn_t *conn), (conn))
LY_TSAN_0_(bufs_destroy, (ly_bufs_t *bufs), (bufs))
LY_TSAN_1_(int, bufs_get,
           (ly_bufs_t *bufs, uint32_t group, uint64_t block, ly_fill_fn fill, void *argument,
            ly_buf_t *buf),
           (bufs, group, block, fill, argument, buf))
LY_TSAN_1_(bool, bufs_find, (ly_bufs_t *bufs, uint32_t group, uint64_t block, ly_buf_t *buf),
           (bufs, group, block, buf))
LY_TSAN_1_(bool, bufs_remove, (ly_bufs_t *bufs, uint32_t group, uint64_t block),
           (bufs, group, block))
LY_TSAN_1_(size_t, bufs_reclaim, (ly_bufs_t *bufs, size_t buffers), (bufs, buffers))
LY_TSAN_0_(buf_release, (ly_buf_t *buf), (buf))
#undef LY_TSAN_0_
#undef LY_TSAN_1_

#ifdef __cplusplus
}
#endif

#define ly_mutex_init ly_tsan_mutex_init
#define ly_mutex_destroy ly_tsan_mutex_destroy
#define ly_mutex_lock ly_tsan_mutex_lock
#define ly_mutex_trylock ly_tsan_mutex_trylock
#define ly_mutex_unlock ly_tsan_mutex_unlock
#define ly_mutex_timedlock ly_tsan_mutex_timedlock
#define ly_mutex_unlock_fair ly_tsan_mutex_unlock_fair
#define ly_qspin_init ly_tsan_qspin_init
#define ly_qspin_destroy ly_tsan_qspin_destroy
#define ly_qspin_lock ly_tsan_qspin_lock
#define ly_qspin_trylock ly_tsan_qspin_trylock
#define ly_qspin_unlock ly_tsan_qspin_unlock
#define ly_ticket_init ly_tsan_ticket_init
#define ly_ticket_destroy ly_tsan_ticket_destroy
#define ly_ticket_lock ly_tsan_ticket_lock
#define ly_ticket_trylock ly_tsan_ticket_trylock
#define ly_ticket_unlock ly_tsan_ticket_unlock
#define ly_tas_init ly_tsan_tas_init
#define ly_tas_destroy ly_tsan_tas_destroy
#define ly_tas_lock ly_tsan_tas_lock
#define ly_tas_trylock ly_tsan_tas_trylock
#define ly_tas_unlock ly_tsan_tas_unlock
#define ly_tas_timedlock ly_tsan_tas_timedlock
#define ly_pvqspin_init ly_tsan_pvqspin_init
#define ly_pvqspin_destroy ly_tsan_pvqspin_destroy
#define ly_pvqspin_lock ly_tsan_pvqspin_lock
#define ly_pvqspin_trylock ly_tsan_pvqspin_trylock
#define ly_pvqspin_unlock ly_tsan_pvqspin_unlock
#define ly_pvqspin_timedlock ly_tsan_pvqspin_timedlock
#define ly_pvqspin_unlock_fair ly_tsan_pvqspin_unlock_fair
#define ly_pvticket_init ly_tsan_pvticket_init
#define ly_pvticket_destroy ly_tsan_pvticket_destroy
#define ly_pvticket_lock ly_tsan_pvticket_lock
#define ly_pvticket_trylock ly_tsan_pvticket_trylock
#define ly_pvticket_unlock ly_tsan_pvticket_unlock
#define ly_cond_wait ly_tsan_cond_wait
#define ly_cond_timedwait ly_tsan_cond_timedwait
#define ly_lockref_lock ly_tsan_lockref_lock
#define ly_lockref_trylock ly_tsan_lockref_trylock
#define ly_lockref_unlock ly_tsan_lockref_unlock
#define ly_lockref_get_not_zero ly_tsan_lockref_get_not_zero
#define ly_lockref_get_not_dead ly_tsan_lockref_get_not_dead
#define ly_lockref_put_return ly_tsan_lockref_put_return
#define ly_lockref_put_not_zero ly_tsan_lockref_put_not_zero
#define ly_lockref_put_or_lock ly_tsan_lockref_put_or_lock
#define ly_pageref_get_not_zero ly_tsan_pageref_get_not_zero
#define ly_pageref_put ly_tsan_pageref_put
#define ly_pageref_try_freeze ly_tsan_pageref_try_freeze
#define ly_pageref_unfreeze ly_tsan_pageref_unfreeze
#define ly_reclaim_destroy ly_tsan_reclaim_destroy
#define ly_reclaim_leave ly_tsan_reclaim_leave
#define ly_reclaim_quiescent ly_tsan_reclaim_quiescent
#define ly_reclaim_retire ly_tsan_reclaim_retire
#define ly_reclaim_retire_later ly_tsan_reclaim_retire_later
#define ly_reclaim_synchronize ly_tsan_reclaim_synchronize
#define ly_reclaim_barrier ly_tsan_reclaim_barrier
#define ly_ids_destroy ly_tsan_ids_destroy
#define ly_ids_release ly_tsan_ids_release
#define ly_conns_destroy ly_tsan_conns_destroy
#define ly_conn_release ly_tsan_conn_release
#define ly_bufs_destroy ly_tsan_bufs_destroy
#define ly_buf_release ly_tsan_buf_release
#define ly_reclaim_try_synchronize ly_tsan_reclaim_try_synchronize
#define ly_reclaim_collect ly_tsan_reclaim_collect
#define ly_ids_insert ly_tsan_ids_insert
#define ly_ids_find ly_tsan_ids_find
#define ly_ids_remove_found ly_tsan_ids_remove_found
#define ly_ids_remove ly_tsan_ids_remove
#define ly_conns_insert ly_tsan_conns_insert
#define ly_conns_find ly_tsan_conns_find
#define ly_conns_remove ly_tsan_conns_remove
#define ly_conns_expire ly_tsan_conns_expire
#define ly_bufs_get ly_tsan_bufs_get
#define ly_bufs_find ly_tsan_bufs_find
#define ly_bufs_remove ly_tsan_bufs_remove
#define ly_bufs_reclaim ly_tsan_bufs_reclaim
#endif /* LY_THREAD_SANITIZER */

#endif  /* LOCKYARD_H */
