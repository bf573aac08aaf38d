//! The functions under the names of the C library: each passes the return address of the call as
//! one more argument, in a register that is free.

use crate::calls;
use core::arch::naked_asm;

macro_rules! with_site {
    ($($name:ident, $function:ident, $register:literal;)*) => { $(
        #[doc = concat!("`", stringify!($name), "`, recorded.")]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name() {
            naked_asm!(
                concat!("mov ", $register, ", [rsp]"),
                "jmp {function}",
                function = sym calls::$function,
            )
        }
    )* };
}

with_site! {
    pthread_mutex_lock, mutex_lock, "rsi";
    pthread_mutex_trylock, mutex_trylock, "rsi";
    pthread_mutex_timedlock, mutex_timedlock, "rdx";
    pthread_mutex_clocklock, mutex_clocklock, "rcx";
    pthread_spin_lock, spin_lock, "rsi";
    pthread_spin_trylock, spin_trylock, "rsi";
    pthread_rwlock_rdlock, read_lock, "rsi";
    pthread_rwlock_tryrdlock, read_trylock, "rsi";
    pthread_rwlock_timedrdlock, read_timedlock, "rdx";
    pthread_rwlock_clockrdlock, read_clocklock, "rcx";
    pthread_rwlock_wrlock, write_lock, "rsi";
    pthread_rwlock_trywrlock, write_trylock, "rsi";
    pthread_rwlock_timedwrlock, write_timedlock, "rdx";
    pthread_rwlock_clockwrlock, write_clocklock, "rcx";
}

macro_rules! plain {
    ($($name:ident, $function:ident;)*) => { $(
        #[doc = concat!("`", stringify!($name), "`, recorded.")]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name() {
            naked_asm!("jmp {function}", function = sym calls::$function)
        }
    )* };
}

plain! {
    pthread_mutex_unlock, mutex_unlock;
    pthread_mutex_destroy, mutex_destroy;
    pthread_spin_unlock, spin_unlock;
    pthread_spin_destroy, spin_destroy;
    pthread_rwlock_unlock, read_write_unlock;
    pthread_rwlock_destroy, read_write_destroy;
}
