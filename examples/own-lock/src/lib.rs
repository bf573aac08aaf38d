//! A ticket lock with proportional back-off: a waiter first pauses once, for a time in proportion
//! to the number of threads before it. So few waiters poll the word at a time.
//!
//! ```text
//!   upper half     lower half
//! +--------------+--------------+
//! | next ticket  | served now   |     free  <=>  both are equal
//! +--------------+--------------+
//! ```
//!
//! Source: Mellor-Crummey and Scott, *Algorithms for Scalable Synchronization on Shared-Memory
//! Multiprocessors*, ACM TOCS 9(1), 1991, section 2.2.

use lockyard::FourBytes;
use lockyard::lane::{Lane, lower, upper};
use lockyard::lock::{Algorithm, LaneLock};
use lockyard::platform::{Host, Int, Ordering};

/// The lock. Its type is only a name: the state is in a lane, the bits of a word.
#[derive(Debug)]
pub struct Mine;

/// Pauses for each thread that is served before. They take about as long as one turn of the lock in
/// `mine.toml`, on the machine whose curve the guide shows.
const PAUSES: u64 = 16;

impl Algorithm for Mine {
    /// A holder gives its ticket back.
    type Token = u16;
    type Width = FourBytes;

    fn is_held<B: Int>(bits: B) -> bool {
        upper(bits) != lower(bits)
    }
}

// SAFETY: each ticket is given out once, and only the thread whose ticket is served is past `lock`.
// `try_lock` takes a ticket only if it is served at once. Every change of the word is a
// read-modify-write, or the store of a part, which counts as one.
unsafe impl<H: Host> LaneLock<H> for Mine {
    unsafe fn lock<L: Lane>(lane: L) -> u16 {
        // Acquire: pairs with the release in `unlock`, if the lock was free.
        let before = lane.fetch_increment_upper(Ordering::Acquire);
        let ticket = upper(before);
        let ahead = ticket.to_u64().wrapping_sub(lower(before).to_u64()) & 0xffff;
        if ahead >= 1 << 15 {
            H::fatal("mine: more than 2^15 threads hold or wait for one lock");
        }
        if ahead > 0 {
            (0..PAUSES * (ahead - 1)).for_each(|_| H::relax());
            // Acquire: pairs with the release in `unlock`.
            lane.wait_until::<H>(Ordering::Acquire, |bits| lower(bits) == ticket);
        }
        ticket.to_u64() as u16
    }

    unsafe fn try_lock<L: Lane>(lane: L) -> Option<u16> {
        // Relaxed: the compare-exchange that follows takes the lock.
        let free = lane.load(Ordering::Relaxed);
        if Self::is_held(free) {
            return None;
        }
        let one = 1 << <L::Bits as Int>::Half::BITS;
        let taken = L::Bits::truncate(free.to_u64() + one);
        // Acquire: pairs with the release in `unlock`.
        lane.compare_exchange(free, taken, Ordering::Acquire).ok()?;
        Some(upper(free).to_u64() as u16)
    }

    unsafe fn unlock<L: Lane>(lane: L, ticket: u16) {
        let half = |ticket: u16| <L::Bits as Int>::Half::truncate(ticket.into());
        // Release: pairs with the acquire of the next holder. Only the holder writes this half.
        lane.store_lower(half(ticket), half(ticket.wrapping_add(1)), Ordering::Release);
    }
}
