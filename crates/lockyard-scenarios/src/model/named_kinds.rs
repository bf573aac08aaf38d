//! Kinds of locks and of page reference counts, with the names that scripts use.
//!
//! A new kind is one line here, and one in `perform` with the library's type for it. Kinds of a
//! user's crate are values: [`OwnLock`].

use super::own_lock::OwnLock;

macro_rules! named_kinds {
    (
        $(#[$of:meta])*
        $name:ident { $($(#[$doc:meta])* $kind:ident = $text:literal;)* }
        $($(#[$own_doc:meta])* else $own:ident($own_type:ty);)?
    ) => {
        $(#[$of])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$doc])* $kind,)*
            $($(#[$own_doc])* $own($own_type),)?
        }

        impl $name {
            /// All kinds of the library.
            pub const ALL: &[$name] = &[$($name::$kind,)*];

            /// The name that scripts use.
            pub fn name(self) -> &'static str {
                match self {
                    $($name::$kind => $text,)*
                    $($name::$own(own) => own.name(),)?
                }
            }
        }
    };
}

named_kinds! {
    /// Kinds of locks.
    LockKind {
        /// The queued lock.
        Queued = "queued";
        /// The queued lock. The thread at the head of the queue takes it by a compare-exchange.
        QueuedCmpxchgGrab = "queued-cmpxchg-grab";
        /// The queued lock that accesses only its whole word.
        QueuedPortable = "queued-portable";
        /// The MCS lock.
        Mcs = "mcs";
        /// The CLH lock.
        Clh = "clh";
        /// The ticket lock.
        Ticket = "ticket";
        /// The ticket lock with its waiting loop in assembly.
        TicketAsmLoop = "ticket-asm-loop";
        /// The ticket lock that accesses only its whole word.
        TicketPortable = "ticket-portable";
        /// The queued lock whose waiters park. A bounded number of steals is allowed.
        PvQueued = "pv-queued";
        /// The ticket lock whose waiters park.
        PvTicket = "pv-ticket";
        /// The ticket lock whose waiters park, with a guest kernel's spin limit.
        PvTicketGuest = "pv-ticket-guest";
        /// The mutex: it spins briefly, then sleeps, and a waiter may demand it.
        Adaptive = "mutex";
        /// A mutex of three states that polls 100 times before it sleeps, as Rust's `std` on Linux.
        StdLike = "futex-mutex";
        /// A mutex whose waiters yield and then sleep, and that is handed over in turns, as
        /// `parking_lot`'s.
        ParkingLike = "parking-mutex";
        /// A mutex of three states that sleeps at once, as a plain `pthread_mutex_t` on Linux.
        PthreadLike = "pthread-like-mutex";
        /// The reader-writer lock: it spins briefly, then sleeps, and the waiter that has waited
        /// longest closes it.
        ReadWrite = "rwlock";
        /// A reader-writer lock that polls 100 times before it sleeps and prefers writers, as
        /// Rust's `std` on Linux.
        StdReadWrite = "std-rwlock";
        /// A reader-writer lock whose waiters yield and then sleep in one queue, as
        /// `parking_lot`'s.
        ParkingReadWrite = "parking-rwlock";
        /// A reader-writer lock that sleeps at once and prefers readers, as a plain
        /// `pthread_rwlock_t` on Linux.
        PthreadReadWrite = "pthread-rwlock";
        /// The test-and-set lock.
        TestAndSet = "test-and-set";
        /// A control without mutual exclusion.
        Broken = "broken";
        /// A reader-writer control whose readers do not look for a writer.
        BrokenReadWrite = "broken-rwlock";
        /// A control that favours one thread.
        Unfair = "unfair";
        /// A control that stalls: a thread that has to wait waits for ever.
        Stalls = "stalls";
        /// A control that treats a used ticket word as a queued lock's word.
        TicketAsQueued = "ticket-as-queued";
    }
    /// A lock of a user's crate.
    else Own(OwnLock);
}

impl LockKind {
    /// Second names of kinds. As the kind's own name, it would be that of a variant of
    /// `examples/every-lock.toml`, where a peer has it.
    pub(crate) const SECOND_NAMES: &[(&str, LockKind)] =
        &[("pthread-mutex", LockKind::PthreadLike)];

    /// Returns `true` if the lock is wrong on purpose.
    pub fn is_control(self) -> bool {
        matches!(
            self,
            LockKind::Broken
                | LockKind::BrokenReadWrite
                | LockKind::Unfair
                | LockKind::Stalls
                | LockKind::TicketAsQueued
        )
    }

    /// Returns `true` if the lock has a shared mode: it is a reader-writer lock.
    pub fn has_shared(self) -> bool {
        matches!(
            self,
            LockKind::ReadWrite
                | LockKind::StdReadWrite
                | LockKind::ParkingReadWrite
                | LockKind::PthreadReadWrite
                | LockKind::BrokenReadWrite
        )
    }

    /// Returns `true` if the lock serves in order of arrival.
    pub fn is_fifo(self) -> bool {
        use LockKind::{Adaptive, ParkingLike, PthreadLike, PvQueued, StdLike, TestAndSet};
        let passes = [TestAndSet, PvQueued, Adaptive, StdLike, ParkingLike, PthreadLike];
        match self {
            LockKind::Own(own) => own.is_fifo(),
            _ => !self.is_control() && !self.has_shared() && !passes.contains(&self),
        }
    }

    /// Returns `true` if waiters are served in order of arrival, and spin until it is their turn.
    pub fn spins_in_turn(self) -> bool {
        let naps = matches!(self, LockKind::PvTicket | LockKind::PvTicketGuest);
        // This control is a ticket lock.
        (self.is_fifo() && !naps) || self == LockKind::TicketAsQueued
    }

    /// Returns `true` if a holder keeps one of its thread's queue nodes.
    pub(crate) fn keeps_a_node(self) -> bool {
        match self {
            LockKind::Own(own) => own.keeps_a_node(),
            _ => matches!(self, LockKind::Mcs | LockKind::Clh),
        }
    }
}

named_kinds! {
    /// Ways to take a page reference.
    PageKind {
        /// An addition, for counts that are never zero.
        Xadd = "xadd";
        /// A load, then a compare-exchange.
        Cmpxchg = "cmpxchg";
        /// A compare-exchange that first guesses that there is one reference.
        OptimisticCmpxchg = "optimistic-cmpxchg";
        /// An addition; if a bit of the word is set, there is no reference to take.
        LockedBit = "locked-bit";
    }
}
