//! The reader-writer lock: many readers or one writer, one of the readers upgradable. Its waiters
//! spin for a short time and then sleep. The thread that has waited longest closes the lock.
//!
//! ```text
//!    63       41 40       25 24        9 8      5 4 3 2 1 0
//!   +-----------+-----------+-----------+--------+-+-+-+-+-+
//!   | readers   | head      | newest    |spinners|L|I|C|U|W|    empty  <=>  readers and W are 0
//!   +-----------+-----------+-----------+--------+-+-+-+-+-+
//!
//!   readers   threads that read, and those that are about to find that they must wait
//!   head      the oldest sleeper; newest: the last that joined; both 0 if no thread sleeps
//!   W         the writer is inside
//!   U         one of the readers is the upgradable one
//!   C         closed: only the head may enter
//!   I         intent: a writer spins until the readers have left, and new ones stay out
//!   L         the queue lock, for changes of the queue other than joining it
//! ```
//!
//! Eight bytes and not four, because a count of all threads, the names of two threads, and the
//! flags need 64 bits. In one word, each step sees all these values at once.
//!
//! | access | enters if | word |
//! | --- | --- | --- |
//! | read | not W, C, I | adds a reader, and takes it back if it may not enter |
//! | read again | not W | adds a reader |
//! | upgradable | not W, U, C, I | adds a reader and U |
//! | write | no readers, not W, C | sets W |
//! | upgrade | one reader, itself | removes that reader and U, sets W |
//!
//! The head of the queue may enter even if C is set, and clears C.
//!
//! # Waiting
//!
//! 1. A thread that must wait registers as a spinner, if fewer than [`Patience::SPINNERS`] threads
//!    spin, and polls [`Patience::POLLS`] times with growing gaps. A writer that finds readers
//!    inside sets I for that time. So it waits for the readers that are inside now, and not for
//!    later readers.
//! 2. Then it joins the queue and sleeps, whether it is a reader, a writer or an upgradable reader.
//!    A writer that waits only for readers also closes the lock by joining. An upgrading reader
//!    comes first in the queue, and closes the lock too.
//! 3. A thread that leaves the lock empty *pokes* the head: it wakes the head if the head sleeps.
//!    It pokes no thread if the lock is not closed and there is a spinner, which then takes the
//!    lock.
//! 4. A head that wakes up polls. It enters as soon as it may, and leaves the queue. If it is a
//!    reader, the readers directly behind it in the queue enter with it, and the lock stays closed
//!    for a writer that is next. Unless the lock is closed, newcomers may pass the head meanwhile.
//! 5. The head also closes the lock when it has been woken in vain, or a nap has ended, and it has
//!    waited for [`Patience::NAP`]. Then no thread passes the head. The thread that leaves the lock
//!    empty pokes the head.
//!
//! A sleeper naps: at first for [`Patience::NAP`], then four times as long each time, and for
//! [`Patience::LONGEST_NAP`] at most. After a nap it checks whether it is the head. The head of a
//! lock that is not closed naps for [`Patience::NAP`] each time.
//!
//! Of [`Patience`], the lock takes the number of spinners, their polls and gaps, and the naps. All
//! its releases are exact ([`Patience::PLAIN_RELEASE`] changes nothing). Without naps, a sleeper
//! closes the lock as soon as it is the head.
//!
//! # Why no wake-up is lost
//!
//! A release is one change of the word. After the change it does not touch the lock, because
//! another thread may then free the lock. A poke touches only the head's node, in the host's
//! memory. The node's `ready` word says whether its thread sleeps, or is awake and about to look at
//! the lock.
//!
//! - A thread joins the queue by a compare-exchange, if it may not enter. So the threads that are
//!   inside, or that keep it out by C or I, act later, and see it in the word.
//! - Before it sleeps again, a sleeper sets `ready` to *asleep*, and then changes the word by a
//!   read-modify-write. If the word then shows that the sleeper may enter, it does not sleep. A
//!   later release finds the node marked asleep, because the release acquires from that change.
//! - The release pokes the head that the word named. If that head has left the queue since, there
//!   are two cases. It is inside, and its own release pokes the next head. Or it has timed out, and
//!   pokes the next head itself.
//! - A writer that ends its spin clears I in the same compare-exchange that joins the queue, and
//!   then pokes the head. A writer that sets C also pokes the head. A thread that clears C is the
//!   head: it is inside, or pokes the next head.
//! - If a release poked no thread because of a spinner, the spinner enters or joins the queue. If
//!   it enters as a reader, or joins while no writer is inside, it pokes the head, because the head
//!   may be allowed to enter when the spinner is not.
//! - Readers that are about to find that they must wait may be counted when a writer leaves. The
//!   writer ignores these readers: it pokes the head as if the lock were empty.
//!
//! # Bounds
//!
//! - *A writer* that meets readers closes the lock. It waits for the readers inside, and for its
//!   wake-up. A writer that meets a writer, or sleepers, may be passed by others. Once it knows
//!   that it is the head, this lasts [`Patience::NAP`] at most. Each sleeper before it adds the
//!   same time at most.
//! - *A reader* waits for the sleepers before it in the same way. After a writer, the readers that
//!   wait next to each other enter together.
//! - *A hand-over* by C comes once in [`Patience::NAP`]: the next head naps once, before it closes
//!   the lock in turn. So newcomers, which need no wake-up, keep most of the throughput.
//!
//! Not bounded are:
//!
//! - the time for which a thread inside, the woken head, a spinner, the thread with the queue lock,
//!   or a thread that is about to poke the head is preempted;
//! - the time until a sleeper finds that it is the head, while spinners keep all releases from
//!   poking it: up to four times as long as it has waited;
//! - writers beside readers that read again ([`ReadRecursive`]), or of a
//!   [`RecursiveRwLock`](crate::RecursiveRwLock), as long as one of the readers is inside; and
//!   every thread that sleeps behind such a writer, even a reader that reads again, if a writer was
//!   inside when that reader came;
//! - the wait of a thread without a slot, or in an interruption: it yields, and all other threads
//!   may pass it. An interruption of a thread that waits must not wait for the same lock: that
//!   thread may keep others out, as a spinning writer or as the head of a closed lock.
//!
//! # Sources
//!
//! - Readers counted in the lock word, and readers and writers in one fair queue: J. Mellor-Crummey
//!   and M. Scott, *Scalable Reader-Writer Synchronization for Shared-Memory Multiprocessors*,
//!   PPoPP 1991; O. Krieger et al., *A Fair Fast Scalable Reader-Writer Lock*, ICPP 1993. In those
//!   locks each reader spins on its own node. Here it sleeps on that node.
//! - A writer that keeps new readers out before it has the lock, the upgradable reader, and all
//!   kinds of access in one word: `SharedMutex` of folly (Apache 2.0), and `parking_lot` (MIT or
//!   Apache 2.0), whose semantics this lock has.
//! - Barging with an occasional hand-over, on demand of a sleeper: see
//!   [`lock::adaptive`](crate::lock::adaptive), whose queue and patience this lock uses.
//!
//! This code was written from the descriptions, not from an implementation.
//!
//! # Others
//!
//! [`sharded`] spreads its readers over lines. [`queued`] spins, for kernels.
//!
//! # Locks for comparison
//!
//! [`StdReadWrite`], [`ParkingReadWrite`] and [`PthreadReadWrite`] are reader-writer locks of other
//! libraries, over the platform. They are for predictions; do not use them in programs.
//! [`ReadWrite`] is the trait of all kinds.

mod api;
mod parking_like;
mod patience;
mod pthread_like;
mod queue;
pub mod queued;
mod raw;
mod read_write;
mod recursive;
pub mod sharded;
mod sharded_api;
mod shards;
mod std_like;
mod wait;
mod word;

// The documentation names it.
#[cfg(doc)]
use crate::lock::adaptive::Patience;
pub use parking_like::ParkingReadWrite;
pub use patience::Usual;
pub use pthread_like::PthreadReadWrite;
pub use queued::RawQRwLock;
pub use raw::RawRwLock;
pub use read_write::ReadWrite;
pub use recursive::ReadRecursive;
pub use sharded::RawShardedRwLock;
pub use std_like::StdReadWrite;

/// Calls a macro with a row for each reader-writer lock, as
/// [`for_each_lock!`](crate::for_each_lock) does for the others. `lock` names a type of this module
/// that takes a host and is a [`ReadWrite`].
#[macro_export]
macro_rules! for_each_rwlock {
    ($($callback:ident)::+ $(, $($more:tt)+)?) => {
        $($callback)::+! {
            $($($more)+)?
            ReadWrite {
                name: "rwlock",
                title: "lockyard's reader-writer lock, whose writers alone use it here",
                lock: RawRwLock,
                sources: [
                    "src/rwlock/raw.rs", "src/rwlock/wait.rs", "src/rwlock/queue.rs",
                    "src/rwlock/word.rs"
                ],
            }
            ShardedReadWrite {
                name: "sharded-rwlock",
                title: "lockyard's reader-writer lock whose readers spread over lines",
                lock: RawShardedRwLock,
                sources: [
                    "src/rwlock/sharded.rs", "src/rwlock/shards.rs"
                ],
            }
            QueuedReadWrite {
                name: "queued-rwlock",
                title: "lockyard's queued reader-writer spinlock",
                lock: RawQRwLock,
                sources: ["src/rwlock/queued.rs"],
            }
            StdReadWrite {
                name: "std-rwlock",
                title: "a reader-writer lock as std's: 100 polls before it sleeps",
                lock: StdReadWrite,
                sources: ["src/rwlock/std_like.rs"],
            }
            ParkingReadWrite {
                name: "parking-rwlock",
                title: "a reader-writer lock as parking_lot's: yields, then sleeps",
                lock: ParkingReadWrite,
                sources: ["src/rwlock/parking_like.rs"],
            }
            PthreadReadWrite {
                name: "pthread-rwlock",
                title: "a reader-writer lock as a plain pthread one: sleeps at once",
                lock: PthreadReadWrite,
                sources: ["src/rwlock/pthread_like.rs"],
            }
        }
    };
}
