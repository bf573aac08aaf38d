//! Kinds of locks and of page reference counts, with the names that scripts use.
//!
//! The library's locks are kinds by their rows in [`lockyard::for_each_lock!`] and
//! [`lockyard::for_each_rwlock!`]. Other kinds of this file are variants on another host or
//! with another policy, and controls: each is one line here, and one in `perform` with its type.
//! Kinds of a user's crate are values: [`OwnLock`].

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

/// Calls a macro with the rows of the library's locks: `locks { row ... } rwlocks row ...`.
macro_rules! for_each_kind {
    ($callback:ident) => {
        lockyard::for_each_lock! { for_each_kind, @ $callback }
    };
    (@ $callback:ident $($kind:ident $facts:tt)*) => {
        lockyard::for_each_rwlock! { $callback, locks { $($kind $facts)* } rwlocks }
    };
}
pub(crate) use for_each_kind;

macro_rules! lock_kinds {
    (
        locks { $($lock:ident {
            name: $name:literal, title: $title:literal, lock: $type:ty, waits: $waits:ident,
            fifo: $fifo:literal, keeps_a_node: $keeps_a_node:literal, $($lock_fact:tt)*
        })* }
        rwlocks $($rwlock:ident {
            name: $rwlock_name:literal, title: $rwlock_title:literal, $($rwlock_fact:tt)*
        })*
    ) => {
        named_kinds! {
            /// Kinds of locks.
            LockKind {
                $(#[doc = $title] $lock = $name;)*
                /// The queued lock that accesses only its whole word.
                QueuedPortable = "queued-portable";
                /// The ticket lock that accesses only its whole word.
                TicketPortable = "ticket-portable";
                /// The ticket lock whose waiters park, with a guest kernel's spin limit.
                PvTicketGuest = "pv-ticket-guest";
                $(#[doc = $rwlock_title] $rwlock = $rwlock_name;)*
                /// A control without mutual exclusion.
                Broken = "broken";
                /// A reader-writer control whose readers do not check for a writer.
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
            /// Returns `true` if the lock has a shared mode: it is a reader-writer lock.
            pub fn has_shared(self) -> bool {
                matches!(self, $(LockKind::$rwlock |)* LockKind::BrokenReadWrite)
            }

            /// Returns `true` if the lock serves in order of arrival.
            pub fn is_fifo(self) -> bool {
                use LockKind::{PvTicketGuest, QueuedPortable, TicketPortable};
                match self {
                    $(LockKind::$lock => $fifo,)*
                    LockKind::Own(own) => own.is_fifo(),
                    _ => matches!(self, QueuedPortable | TicketPortable | PvTicketGuest),
                }
            }

            /// Returns `true` if waiters are served in order of arrival, and spin until it is their
            /// turn.
            pub fn spins_in_turn(self) -> bool {
                let spins = match self {
                    $(LockKind::$lock => matches!(stringify!($waits), "spin" | "queue"),)*
                    _ => self != LockKind::PvTicketGuest,
                };
                // This control is a ticket lock.
                (self.is_fifo() && spins) || self == LockKind::TicketAsQueued
            }

            /// Returns `true` if a holder keeps one of its thread's queue nodes.
            pub(crate) fn keeps_a_node(self) -> bool {
                match self {
                    $(LockKind::$lock => $keeps_a_node,)*
                    LockKind::Own(own) => own.keeps_a_node(),
                    _ => false,
                }
            }
        }
    };
}
for_each_kind!(lock_kinds);

impl LockKind {
    /// Second names of kinds. They are not the kinds' own names, because a variant of
    /// `examples/every-lock.toml` would then have the name of a peer.
    pub(crate) const SECOND_NAMES: &[(&str, LockKind)] =
        &[("pthread-mutex", LockKind::PthreadLike)];

    /// Returns `true` if the lock is wrong on purpose.
    pub fn is_control(self) -> bool {
        use LockKind::{Broken, BrokenReadWrite, Stalls, TicketAsQueued, Unfair};
        matches!(self, Broken | BrokenReadWrite | Unfair | Stalls | TicketAsQueued)
    }
}

named_kinds! {
    /// Methods of taking a page reference.
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
