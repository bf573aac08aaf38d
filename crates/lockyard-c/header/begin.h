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
