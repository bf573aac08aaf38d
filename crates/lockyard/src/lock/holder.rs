//! Tokens that the holder need not keep, because the lane gives their values. For callers that have
//! no room for a token between the acquisition and the release, such as C.

use super::algorithm::Algorithm;
use super::pv::Hooks;
use super::ticket::Poll;
use super::{Adaptive, PvTicket, Queued, TestAndSet, Ticket, adaptive, pv_ticket, queued};
use crate::lane::{Width, lower};
use crate::platform::Int;

/// An algorithm whose token can be read from the lane while the lock is held.
///
/// [`PvQueued`](super::PvQueued), [`Mcs`](super::Mcs) and [`Clh`](super::Clh) do not implement it:
/// their tokens name queue nodes.
///
/// # Safety
///
/// While a thread holds the lock, [`token_of_holder`](Self::token_of_holder) must return the token
/// that the acquisition returned, for every value that the lane can have.
pub unsafe trait TokenInLane: Algorithm {
    /// Returns the holder's token. `bits` is the lane, read by the holder.
    fn token_of_holder<B: Int>(bits: B) -> Self::Token;
}

// SAFETY: the token is `()`.
unsafe impl<P: adaptive::Patience> TokenInLane for Adaptive<P> {
    #[inline(always)]
    fn token_of_holder<B: Int>(_bits: B) {}
}

// SAFETY: the token is `()`.
unsafe impl<G: queued::Grab> TokenInLane for Queued<G> {
    #[inline(always)]
    fn token_of_holder<B: Int>(_bits: B) {}
}

// SAFETY: the token is `()`.
unsafe impl TokenInLane for TestAndSet {
    #[inline(always)]
    fn token_of_holder<B: Int>(_bits: B) {}
}

// SAFETY: the holder's ticket is the value of `owner`, and only the holder changes `owner`.
unsafe impl<P: Poll, W: Width> TokenInLane for Ticket<P, W> {
    #[inline(always)]
    fn token_of_holder<B: Int>(bits: B) -> u16 {
        lower(bits).to_u64() as u16
    }
}

// SAFETY: as for `Ticket`. The flag beside the owner is not part of the ticket.
unsafe impl<P: Hooks> TokenInLane for PvTicket<P> {
    #[inline(always)]
    fn token_of_holder<B: Int>(bits: B) -> u16 {
        if P::PARK { pv_ticket::owner(bits) as u16 } else { <Ticket>::token_of_holder(bits) }
    }
}
