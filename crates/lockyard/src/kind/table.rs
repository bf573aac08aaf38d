//! The kinds that can be chosen at run time. Each row of the table at the end defines one kind, and
//! the order of the rows gives the codes. Macros generate from that table everything that depends
//! on the kind. (The comparators, [`Mcs`](crate::lock::Mcs) and [`Clh`](crate::lock::Clh), are left
//! out: every acquisition of a chosen lock would contain their long code paths.)

use crate::lane::{LaneWord, Whole};
use crate::lock::{Algorithm, LaneLock, PvQueued, PvTicket, Queued, TestAndSet, Ticket};
use crate::platform::HostWithSlots;
use core::fmt;

/// The error for a name that is not the name of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSuchKind(());

impl fmt::Display for NoSuchKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no such kind of lock; there are")?;
        for (index, kind) in Kind::ALL.iter().enumerate() {
            write!(f, "{}{}", if index == 0 { " " } else { ", " }, kind.name())?;
        }
        Ok(())
    }
}

impl core::error::Error for NoSuchKind {}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal: $algorithm:ty;)*) => {
        /// A kind of lock that can be chosen at run time.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
        }

        impl Kind {
            /// All kinds.
            pub const ALL: &[Kind] = &[$(Kind::$kind,)*];

            /// Returns the name that [`FromStr`](core::str::FromStr) parses.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Kind::$kind => $name,)*
                }
            }

            /// Returns the kind with this code. Codes start at 1.
            #[inline(always)]
            pub(super) const fn from_code(code: u8) -> Option<Kind> {
                $(if code == Kind::$kind as u8 + 1 {
                    return Some(Kind::$kind);
                })*
                None
            }
        }

        /// The value that the holder of a [`RawChosenLock`](super::RawChosenLock) gives back: the
        /// token of the lock's kind.
        #[derive(Clone, Copy, Debug)]
        #[non_exhaustive]
        pub enum ChosenToken {
            $($(#[$doc])* $kind(<$algorithm as Algorithm>::Token),)*
        }

        impl ChosenToken {
            /// Returns the kind of the lock.
            pub const fn kind(&self) -> Kind {
                match self {
                    $(ChosenToken::$kind(_) => Kind::$kind,)*
                }
            }
        }

        /// Takes the lock in `word` as a lock of `kind`.
        ///
        /// # Safety
        ///
        /// The same as for [`LaneLock::lock`] of that kind's algorithm.
        #[inline(always)]
        pub(super) unsafe fn lock<H: HostWithSlots, W: LaneWord>(
            kind: Kind,
            word: &W,
        ) -> ChosenToken {
            match kind {
                $(Kind::$kind => {
                    // SAFETY: the caller's promise.
                    ChosenToken::$kind(unsafe { <$algorithm as LaneLock<H>>::lock(Whole(word)) })
                })*
            }
        }

        /// Takes the lock in `word` as a lock of `kind`, if it is free.
        ///
        /// # Safety
        ///
        /// The same as for [`lock`].
        #[inline(always)]
        pub(super) unsafe fn try_lock<H: HostWithSlots, W: LaneWord>(
            kind: Kind,
            word: &W,
        ) -> Option<ChosenToken> {
            match kind {
                $(Kind::$kind => {
                    // SAFETY: the caller's promise.
                    let token = unsafe { <$algorithm as LaneLock<H>>::try_lock(Whole(word)) };
                    token.map(ChosenToken::$kind)
                })*
            }
        }

        /// Releases the lock in `word`.
        ///
        /// # Safety
        ///
        /// The same as for [`LaneLock::unlock`]: `token` must come from the acquisition.
        #[inline(always)]
        pub(super) unsafe fn unlock<H: HostWithSlots, W: LaneWord>(word: &W, token: ChosenToken) {
            match token {
                $(ChosenToken::$kind(token) => {
                    // SAFETY: the caller's promise. The token says which algorithm made it.
                    unsafe { <$algorithm as LaneLock<H>>::unlock(Whole(word), token) }
                })*
            }
        }

        /// Returns true if `bits` is the word of a held lock of `kind`.
        #[inline(always)]
        pub(super) fn is_held<W: LaneWord>(kind: Kind, bits: W::Int) -> bool {
            match kind {
                $(Kind::$kind => <$algorithm>::is_held(bits),)*
            }
        }
    };
}

impl core::str::FromStr for Kind {
    type Err = NoSuchKind;

    fn from_str(name: &str) -> Result<Kind, NoSuchKind> {
        Kind::ALL.iter().copied().find(|kind| kind.name() == name).ok_or(NoSuchKind(()))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

kinds! {
    /// [`Ticket`](crate::lock::Ticket).
    Ticket = "ticket": Ticket;
    /// [`Queued`](crate::lock::Queued).
    Queued = "queued": Queued;
    /// [`PvTicket`](crate::lock::PvTicket).
    PvTicket = "pv-ticket": PvTicket;
    /// [`PvQueued`](crate::lock::PvQueued).
    PvQueued = "pv-queued": PvQueued;
    /// [`TestAndSet`](crate::lock::TestAndSet).
    TestAndSet = "test-and-set": TestAndSet;
}
