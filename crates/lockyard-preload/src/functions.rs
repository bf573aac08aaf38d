//! The functions under the C library's names, in one table: which versions of each a program's
//! reference may have, which function it would be without the recorder, and what happens here.
//!
//! The loader gives a reference the first definition of its name *and version*. So the recorder
//! defines each version by itself: a program that waits by the functions of 2002 waits by those, as
//! it signals by those. A reference to a version that is not here goes past the recorder, to the
//! library that serves the program's waits too (`lockyard-interpose`).
//!
//! A row has the name of the real function's place (`real.rs`), the function, the versions that
//! bind here (`@@` marks the present one, which a program gets today), the version that is called,
//! and the entry (`entry_points.rs`).

/// Hands the table to another macro.
macro_rules! functions {
    ($to:ident) => {
        $to! {
            MUTEX_LOCK, "pthread_mutex_lock", ["@@GLIBC_2.2.5"], c"GLIBC_2.2.5",
                (site "rsi" mutex_lock);
            MUTEX_TRYLOCK, "pthread_mutex_trylock", ["@GLIBC_2.2.5", "@@GLIBC_2.34"],
                c"GLIBC_2.34", (site "rsi" mutex_trylock);
            MUTEX_TIMEDLOCK, "pthread_mutex_timedlock", ["@GLIBC_2.2.5", "@@GLIBC_2.34"],
                c"GLIBC_2.34", (site "rdx" mutex_timedlock);
            MUTEX_CLOCKLOCK, "pthread_mutex_clocklock", ["@GLIBC_2.30", "@@GLIBC_2.34"],
                c"GLIBC_2.34", (site "rcx" mutex_clocklock);
            MUTEX_UNLOCK, "pthread_mutex_unlock", ["@@GLIBC_2.2.5"], c"GLIBC_2.2.5",
                (plain mutex_unlock);
            MUTEX_DESTROY, "pthread_mutex_destroy", ["@@GLIBC_2.2.5"], c"GLIBC_2.2.5",
                (plain mutex_destroy);
            SPIN_LOCK, "pthread_spin_lock", ["@GLIBC_2.2.5", "@@GLIBC_2.34"], c"GLIBC_2.34",
                (site "rsi" spin_lock);
            SPIN_TRYLOCK, "pthread_spin_trylock", ["@GLIBC_2.2.5", "@@GLIBC_2.34"],
                c"GLIBC_2.34", (site "rsi" spin_trylock);
            SPIN_UNLOCK, "pthread_spin_unlock", ["@GLIBC_2.2.5", "@@GLIBC_2.34"], c"GLIBC_2.34",
                (plain spin_unlock);
            SPIN_DESTROY, "pthread_spin_destroy", ["@GLIBC_2.2.5", "@@GLIBC_2.34"],
                c"GLIBC_2.34", (plain spin_destroy);
            READ_LOCK, "pthread_rwlock_rdlock", ["@GLIBC_2.2.5", "@@GLIBC_2.34"], c"GLIBC_2.34",
                (site "rsi" read_lock);
            READ_TRYLOCK, "pthread_rwlock_tryrdlock", ["@GLIBC_2.2.5", "@@GLIBC_2.34"],
                c"GLIBC_2.34", (site "rsi" read_trylock);
            READ_TIMEDLOCK, "pthread_rwlock_timedrdlock", ["@GLIBC_2.2.5", "@@GLIBC_2.34"],
                c"GLIBC_2.34", (site "rdx" read_timedlock);
            READ_CLOCKLOCK, "pthread_rwlock_clockrdlock", ["@GLIBC_2.30", "@@GLIBC_2.34"],
                c"GLIBC_2.34", (site "rcx" read_clocklock);
            WRITE_LOCK, "pthread_rwlock_wrlock", ["@GLIBC_2.2.5", "@@GLIBC_2.34"], c"GLIBC_2.34",
                (site "rsi" write_lock);
            WRITE_TRYLOCK, "pthread_rwlock_trywrlock", ["@GLIBC_2.2.5", "@@GLIBC_2.34"],
                c"GLIBC_2.34", (site "rsi" write_trylock);
            WRITE_TIMEDLOCK, "pthread_rwlock_timedwrlock", ["@GLIBC_2.2.5", "@@GLIBC_2.34"],
                c"GLIBC_2.34", (site "rdx" write_timedlock);
            WRITE_CLOCKLOCK, "pthread_rwlock_clockwrlock", ["@GLIBC_2.30", "@@GLIBC_2.34"],
                c"GLIBC_2.34", (site "rcx" write_clocklock);
            READ_WRITE_UNLOCK, "pthread_rwlock_unlock", ["@GLIBC_2.2.5", "@@GLIBC_2.34"],
                c"GLIBC_2.34", (plain read_write_unlock);
            READ_WRITE_DESTROY, "pthread_rwlock_destroy", ["@GLIBC_2.2.5", "@@GLIBC_2.34"],
                c"GLIBC_2.34", (plain read_write_destroy);

            // Conditions of two layouts, each with functions of its own.
            CONDITION_WAIT, "pthread_cond_wait", ["@@GLIBC_2.3.2"], c"GLIBC_2.3.2", (waits);
            CONDITION_TIMEDWAIT, "pthread_cond_timedwait", ["@@GLIBC_2.3.2"], c"GLIBC_2.3.2",
                (waits);
            OLD_CONDITION_WAIT, "pthread_cond_wait", ["@GLIBC_2.2.5"], c"GLIBC_2.2.5", (waits);
            OLD_CONDITION_TIMEDWAIT, "pthread_cond_timedwait", ["@GLIBC_2.2.5"], c"GLIBC_2.2.5",
                (waits);
            CONDITION_CLOCKWAIT, "pthread_cond_clockwait", ["@GLIBC_2.30", "@@GLIBC_2.34"],
                c"GLIBC_2.34", (waits);

            CONDITION_SIGNAL, "pthread_cond_signal", ["@@GLIBC_2.3.2"], c"GLIBC_2.3.2",
                (signal "rsi" condition_signal);
            CONDITION_BROADCAST, "pthread_cond_broadcast", ["@@GLIBC_2.3.2"], c"GLIBC_2.3.2",
                (signal "rsi" condition_broadcast);
            OLD_CONDITION_SIGNAL, "pthread_cond_signal", ["@GLIBC_2.2.5"], c"GLIBC_2.2.5",
                (signal "rsi" old_condition_signal);
            OLD_CONDITION_BROADCAST, "pthread_cond_broadcast", ["@GLIBC_2.2.5"],
                c"GLIBC_2.2.5", (signal "rsi" old_condition_broadcast);

            // Other ways to wait for other threads.
            SEMAPHORE_WAIT, "sem_wait", ["@GLIBC_2.2.5", "@@GLIBC_2.34"], c"GLIBC_2.34", (takes);
            SEMAPHORE_TRYWAIT, "sem_trywait", ["@GLIBC_2.2.5", "@@GLIBC_2.34"], c"GLIBC_2.34",
                (takes);
            SEMAPHORE_TIMEDWAIT, "sem_timedwait", ["@GLIBC_2.2.5", "@@GLIBC_2.34"],
                c"GLIBC_2.34", (takes);
            SEMAPHORE_CLOCKWAIT, "sem_clockwait", ["@GLIBC_2.30", "@@GLIBC_2.34"],
                c"GLIBC_2.34", (takes);
            SEMAPHORE_POST, "sem_post", ["@GLIBC_2.2.5", "@@GLIBC_2.34"], c"GLIBC_2.34",
                (signal "rsi" semaphore_post);
            BARRIER_WAIT, "pthread_barrier_wait", ["@GLIBC_2.2.5", "@@GLIBC_2.34"],
                c"GLIBC_2.34", (signal "rsi" barrier_wait);
            YIELD, "sched_yield", ["@@GLIBC_2.2.5"], c"GLIBC_2.2.5", (noted signals yields);
            STANDARD_YIELD, "thrd_yield", ["@@GLIBC_2.28"], c"GLIBC_2.28", (noted signals yields);
            NANOSLEEP, "nanosleep", ["@@GLIBC_2.2.5"], c"GLIBC_2.2.5", (noted signals naps);
            CLOCK_NANOSLEEP, "clock_nanosleep", ["@GLIBC_2.2.5", "@@GLIBC_2.17"],
                c"GLIBC_2.17", (noted signals naps);
            USLEEP, "usleep", ["@@GLIBC_2.2.5"], c"GLIBC_2.2.5", (noted signals naps);

            // By these a program goes past the recorder, or to another program.
            DLOPEN, "dlopen", ["@GLIBC_2.2.5", "@@GLIBC_2.34"], c"GLIBC_2.34", (noted unseen opens);
            DLMOPEN, "dlmopen", ["@GLIBC_2.3.4", "@@GLIBC_2.34"], c"GLIBC_2.34",
                (noted unseen opens_in_namespace);
            DLSYM, "dlsym", ["@GLIBC_2.2.5", "@@GLIBC_2.34"], c"GLIBC_2.34", (noted unseen searches);
            EXECVE, "execve", ["@@GLIBC_2.2.5"], c"GLIBC_2.2.5", (instead execve);
            EXECV, "execv", ["@@GLIBC_2.2.5"], c"GLIBC_2.2.5", (instead execv);
            EXECVP, "execvp", ["@@GLIBC_2.2.5"], c"GLIBC_2.2.5", (instead execvp);
            EXECVPE, "execvpe", ["@@GLIBC_2.11"], c"GLIBC_2.11", (instead execvpe);
            FEXECVE, "fexecve", ["@@GLIBC_2.2.5"], c"GLIBC_2.2.5", (instead fexecve);
            EXECL, "execl", ["@@GLIBC_2.2.5"], c"GLIBC_2.2.5", (noted programs executes);
            EXECLP, "execlp", ["@@GLIBC_2.2.5"], c"GLIBC_2.2.5", (noted programs executes);
            EXECLE, "execle", ["@@GLIBC_2.2.5"], c"GLIBC_2.2.5", (noted programs executes_elsewhere);
            SPAWN, "posix_spawn", ["@@GLIBC_2.15"], c"GLIBC_2.15", (instead spawn);
            SPAWN_BY_PATH, "posix_spawnp", ["@@GLIBC_2.15"], c"GLIBC_2.15",
                (instead spawn_by_path);
            OLD_SPAWN, "posix_spawn", ["@GLIBC_2.2.5"], c"GLIBC_2.2.5", (instead old_spawn);
            OLD_SPAWN_BY_PATH, "posix_spawnp", ["@GLIBC_2.2.5"], c"GLIBC_2.2.5",
                (instead old_spawn_by_path);

            // Locks that are not recorded: it is noted that there are some.
            STANDARD_LOCK, "mtx_lock", ["@GLIBC_2.28", "@@GLIBC_2.34"], c"GLIBC_2.34",
                (once STANDARD);
            STANDARD_TRYLOCK, "mtx_trylock", ["@GLIBC_2.28", "@@GLIBC_2.34"], c"GLIBC_2.34",
                (once STANDARD);
            STANDARD_TIMEDLOCK, "mtx_timedlock", ["@GLIBC_2.28", "@@GLIBC_2.34"],
                c"GLIBC_2.34", (once STANDARD);
        }
    };
}

pub(crate) use functions;
