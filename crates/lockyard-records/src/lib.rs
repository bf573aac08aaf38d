//! Layout of the file where a profiled program records its locks.
//!
//! `lockyard-preload` writes the file inside the program, through a shared mapping, and
//! `lockyard-profile` reads it after the program has ended, however it ended. So the file needs no
//! last step: each structure is complete once something points to it. All numbers are little-endian
//! (x86-64), and references are offsets from the beginning of the file; 0 stands for none.
//!
//! ```text
//! Header ── threads ──> Thread ── next ──> Thread ...
//!   │                     ├── slots ────> [Slot; n] ──> Entry (lock and call site, by a thread)
//!   │                     │                              ├──> histograms of holds
//!   │                     │                              ├──> Waits
//!   │                     │                              └──> Lock
//!   │                     ├── pairs ────> [Pair; n]    (a lock taken while another was held)
//!   │                     ├── seen ─────> [u32; n]     (fingerprints of the pairs)
//!   │                     └── held        (locks that the thread holds now)
//!   ├── heads ─────────> [u32; HEADS] ──> Lock ── children ──> Lock ...
//!   ├── windows ───────> Window ── next ──> Window ...    (runs of events, if asked for)
//!   ├── maps ──────────> Text ── next ──> Text ...        (copies of /proc/self/maps)
//!   └── notes ─────────> Note ── next ──> Note ...        (what goes past the recorder)
//! ```
//!
//! A [`Slot`], an [`Entry`], its [`Waits`] or a [`Pair`] is written by its thread only. A [`Lock`]
//! is written by the thread that holds the lock, but for its [`Pace`].
//!
//! An acquisition that neither waits nor is in the sample touches one slot, which counts it, and
//! the thread's own lines. So slots are small: four to a cache line.

#![no_std]

pub mod histogram;
pub mod waits;
mod window;

pub use waits::{Pace, Waits};
pub use window::{Event, WINDOW_EVENTS, Window};

/// First bytes of a file.
pub const MAGIC: u64 = u64::from_le_bytes(*b"lockyard");

/// Version of the layout.
pub const VERSION: u32 = 9;

/// Environment variable with the directory for the files. Without it nothing is recorded.
pub const DIRECTORY: &str = "LOCKYARD_RECORDS";

/// Environment variable that asks the library for the cost of a recorded pair. The process then
/// ends before the program starts.
pub const MEASURE_COST: &str = "LOCKYARD_RECORDS_COST";

/// Environment variable with the mean number of acquisitions for each one that is timed.
pub const EVERY: &str = "LOCKYARD_RECORDS_EVERY";

/// Environment variable that asks for runs of events ([`Window`]). Its value is the number of ticks
/// in a microsecond.
pub const EVENTS: &str = "LOCKYARD_RECORDS_EVENTS";

/// Maximum of this number. A sample of fewer times would be meaningless.
pub const MOST_EVERY: u64 = 1 << 20;

/// Name of the file in the directory that tells where each CPU is: [`Cpu`] for each of [`CPUS`].
pub const TOPOLOGY: &str = "cpus";

/// End of the name of a file with records.
pub const EXTENSION: &str = ".records";

/// Maximum size of a file in bytes. Events that do not fit are counted as lost.
pub const MAX_BYTES: u64 = 1 << 30;

/// The file system had no room.
pub const FULL_DISK: u64 = 1;

/// The process's limit for the size of a file (`ulimit -f`) was reached.
pub const FULL_LIMIT: u64 = 2;

/// The mapping was full: [`MAX_BYTES`], or less in a process whose address space is limited.
pub const FULL_MAPPING: u64 = 3;

/// Number of trees of locks. The upper bits of an address's hash select one, and the bits after
/// them lead through the tree.
pub const HEADS: usize = 1 << HEAD_BITS;

/// Number of bits of the hash that select a tree.
pub const HEAD_BITS: u32 = 9;

/// Number of CPUs in the topology. Larger CPU numbers are taken modulo this number.
pub const CPUS: usize = 4096;

/// Place of a CPU.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cpu {
    /// Index of the core, different for each core of the host.
    pub core: u16,
    /// Number of the group of cores that share the last-level cache.
    pub complex: u16,
}

/// Distances of a hand-over: to the same CPU, to a sibling on the same core, within the last-level
/// cache, beyond it.
pub const DISTANCES: usize = 4;

/// Beginning of the file.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// [`MAGIC`]; written last.
    pub magic: u64,
    /// [`VERSION`].
    pub version: u32,
    /// Process.
    pub pid: u32,
    /// Parent of the process.
    pub parent: u32,
    /// 1 if the process is a fork that has not executed another program.
    pub forked: u32,
    /// Time of the start in ticks.
    pub start: u64,
    /// Offset of the first free byte.
    pub end: u64,
    /// Size of the file.
    pub size: u64,
    /// 1 while a thread extends the file; 2 if another thread has waited in vain for that.
    pub growing: u64,
    /// Reason for which the file could not be extended: [`FULL_DISK`] or one of the constants after
    /// it; 0 if there was no failure.
    pub full: u64,
    /// Offset of the latest [`Thread`].
    pub threads: u64,
    /// Number of threads that recorded something.
    pub thread_count: u64,
    /// Offset of a [`Thread`] whose thread has ended, for the next one; a stack. The upper 16 bits
    /// count changes.
    pub unused: u64,
    /// Offset of the trees of [`Lock`]s: for each the offset of the first one as a `u32`, in units
    /// of 64 bytes.
    pub heads: u64,
    /// Offset of the latest [`Text`] with mappings.
    pub maps: u64,
    /// Number of copies of the mappings.
    pub map_count: u64,
    /// Events that had no room in the file.
    pub lost: u64,
    /// Calls from within the recorder itself, or from a signal handler that interrupted it.
    pub inside: u64,
    /// Releases by a thread that had not acquired the lock.
    pub unmatched: u64,
    /// Acquisitions whose release is not recorded, because the thread held too many locks.
    pub too_deep: u64,
    /// Cost of a recorded acquisition and release beyond that of the plain calls, in thousandths of
    /// a tick, for a lock in the nearest cache. 0 if it was not measured.
    pub cost: u64,
    /// The same for [`FAR_LOCKS`] locks that two threads use in a mixed order, with cold caches.
    pub far_cost: u64,
    /// Cost of a plain acquisition and release, in thousandths of a tick, measured as `cost` is.
    pub plain: u64,
    /// Time of the work under the lock and outside of it, alone, in thousandths of a tick, with
    /// which the cost of events was measured; 0 if it was not.
    pub work: u64,
    /// Offset of the latest [`Window`].
    pub windows: u64,
    /// Number of [`Window`]s that had no room.
    pub lost_windows: u64,
    /// Offset of the latest [`Note`].
    pub notes: u64,
    /// Number of notes. Those beyond [`MOST_NOTES`] are not there.
    pub note_count: u64,
    /// Three names, each ended by a zero: the path of the program's file; the name of the program
    /// as it was called; and that of the process if it is the child of a fork, otherwise nothing.
    pub program: [u8; NAMES],
}

/// Size of the names in bytes.
pub const NAMES: usize = 512;

/// Maximum length of the name as called.
pub const CALLED: usize = 64;

/// Maximum length of a process's own name, as the system keeps it.
pub const OWN_NAME: usize = 15;

/// Maximum number of locks that a thread holds at a time and that are recorded.
pub const MAX_HELD: usize = 32;

/// A lock that a thread holds.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    /// Address of the lock.
    pub lock: u64,
    /// Offset of the entry of its acquisition.
    pub entry: u64,
    /// Time of the acquisition in ticks; 0 if this hold is not timed.
    pub since: u64,
    /// Ticks for which the acquisition waited; 0 if it did not, or if that is not timed. The entry
    /// gets them after the release.
    pub waited: u64,
    /// Number of further acquisitions by the same thread: of a recursive lock, or to read.
    pub depth: u32,
    /// Marks of [`held`]. A hold without a mark and without depth needs nothing at its release.
    pub marks: u32,
}

/// Marks of a [`Held`].
pub mod held {
    /// The hold is timed.
    pub const TIMED: u32 = 1;
    /// It is timed by chance, not in any case. See
    /// [`Entry::early_count`](crate::Entry::early_count).
    pub const BY_CHANCE: u32 = 2;
    /// Acquisition and release are events.
    pub const EVENT: u32 = 4;
    /// The event of the acquisition is written.
    pub const WRITTEN: u32 = 8;
    /// The acquisition is by a call that does not wait.
    pub const TRIED: u32 = 16;
    /// The acquisition had to wait, and that was timed.
    pub const WAITED: u32 = 32;
    /// The run of the lock's owner is followed.
    pub const FOLLOWED: u32 = 64;
    /// The run is followed from this acquisition on.
    pub const FIRST: u32 = 128;
    /// Waiters of the lock never sleep.
    pub const SPINS: u32 = 256;
    /// Place of the exponent of a timed wait ([`Waits::add`](crate::Waits::add)) in the marks.
    pub const EXPONENT: u32 = 24;
}

/// Records of a thread. A thread that begins takes over those of one that has ended. What changes
/// at each acquisition and release is in the first two cache lines.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug)]
pub struct Thread {
    /// Offset of a table of [`Slot`].
    pub slots: u64,
    /// Size of the table less one. The size is a power of two.
    pub slot_mask: u32,
    /// Index of the thread, from 1.
    pub number: u32,
    /// Number of locks that the thread holds.
    pub held_count: u64,
    /// Number of acquisitions until one is timed.
    pub countdown: u64,
    /// Number of acquisitions that are timed in any case.
    pub early: u64,
    /// Offset of a table of fingerprints of pairs.
    pub seen: u64,
    /// Size of the table less one. The size is a power of two.
    pub seen_mask: u32,
    /// Number of fingerprints.
    pub seen_count: u32,
    /// Index of the burst to which the thread's open window belongs; 0 if none is open.
    pub burst: u32,
    /// Number of its holds that the burst has not counted yet.
    pub burst_count: u32,
    /// Locks that the thread holds, in the order of acquisition.
    pub held: [Held; MAX_HELD],
    /// Number of its nested acquisitions after the burst of its open window.
    pub late_count: u32,
    /// Not used.
    pub reserved: u32,
    /// Offset of the thread before.
    pub next: u64,
    /// Offset of the next unused one, if this one is unused.
    pub next_unused: u64,
    /// Number of slots that are used.
    pub slot_count: u32,
    /// The system's id of the thread.
    pub tid: u32,
    /// Offset of a table of [`Pair`].
    pub pairs: u64,
    /// Size of the table: a power of two.
    pub pair_room: u32,
    /// Number of pairs.
    pub pair_count: u32,
    /// Sum of the gaps between acquisitions that are in the sample. Less `countdown`, it is the
    /// number of acquisitions.
    pub given: u64,
    /// Offset of the latest [`Window`].
    pub window: u64,
    /// State of the generator of random numbers.
    pub random: u64,
    /// Time of the latest event.
    pub event_ticks: u64,
    /// Time at which the thread's processor time was last read.
    pub read_ticks: u64,
    /// The processor time, in nanoseconds.
    pub read_cpu: u64,
    /// Number of times the thread had given up its processor by itself, and had lost it.
    pub read_switches: [u64; 2],
    /// Number of acquisitions that had waited.
    pub read_waits: u64,
    /// Ticks since then of short waits for locks whose waiters may sleep, and of long waits.
    pub read_waited: [u64; 2],
    /// Time at which the thread's use of processors was last read for its holds; 0 if never.
    pub usage_ticks: u64,
    /// The processor time, in nanoseconds.
    pub usage_cpu: u64,
    /// Number of times the thread had given up its processor by itself, and had lost it.
    pub usage_switches: [u64; 2],
    /// Number of acquisitions that had waited.
    pub usage_waits: u64,
    /// Number of acquisitions that have waited until now.
    pub waits: u64,
    /// Time of the first reading in ticks, and in nanoseconds.
    pub usage_begin: [u64; 2],
    /// Use of processors up to the latest reading, if events are wanted.
    pub used: Used,
}

/// Use of processors by the threads that had a [`Thread`]'s records, up to a reading. Each counts
/// from its first lock on, so that all numbers are of the same time.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Duration in ticks.
    pub ticks: u64,
    /// The processor time, in nanoseconds.
    pub cpu: u64,
    /// Number of times the threads had given up their processor by themselves, and had lost it.
    pub switches: [u64; 2],
    /// Number of acquisitions.
    pub acquired: u64,
    /// Number of threads that have had the records.
    pub threads: u64,
}

/// Number of events of one lock at one call site by one thread.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Slot {
    /// Hash of lock, call site and event ([`key`]); 0 for an unused slot.
    pub key: u64,
    /// Number of events in the upper bits, in units of [`EVENT`]; below them the offset of the
    /// [`Entry`], in units of [`ENTRY_UNIT`].
    pub count: u64,
}

impl Thread {
    /// Returns the size of the table of fingerprints.
    pub fn seen_size(&self) -> u32 {
        if self.seen == 0 { 0 } else { self.seen_mask + 1 }
    }
}

/// Number of bytes before a table of slots. The first eight have the number of slots.
pub const TABLE_HEADER: u64 = 64;

/// One event in [`Slot::count`].
pub const EVENT: u64 = 1 << 24;

/// Kinds of events, in the upper bits of [`Entry::site`].
pub mod event {
    /// An exclusive acquisition.
    pub const ACQUIRED: u64 = 0;
    /// An acquisition to read.
    pub const READ: u64 = 1 << 60;
    /// An acquisition of a lock that the thread already held.
    pub const NESTED: u64 = 2 << 60;
    /// A call that gave up: a `trylock`, or a timeout. With [`Other`](crate::Kind::Other), a wait
    /// for a condition whose time was over.
    pub const FAILED: u64 = 3 << 60;
    /// A wait for a condition.
    pub const CONDITION: u64 = 4 << 60;
    /// A release, in an [`Event`](crate::Event).
    pub const RELEASED: u64 = 5 << 60;
    /// Time without a processor, in an [`Event`](crate::Event).
    pub const OFF_CPU: u64 = 6 << 60;
    /// An exclusive acquisition by a call that does not wait, in an [`Event`](crate::Event).
    pub const TRIED: u64 = 7 << 60;
    /// A signal of a condition. From here on, the lock is a condition, a semaphore or a barrier.
    pub const SIGNALLED: u64 = 8 << 60;
    /// A signal to all who wait for a condition.
    pub const BROADCAST: u64 = 9 << 60;
    /// The beginning of a wait for a condition.
    pub const WAITING: u64 = 10 << 60;
    /// A unit is taken from a semaphore. An [`Event`](crate::Event) has the semaphore's value after
    /// it in the bits of the lock from [`VALUE`] on.
    pub const TAKEN: u64 = 11 << 60;
    /// A unit is given to a semaphore.
    pub const GIVEN: u64 = 12 << 60;
    /// A barrier is passed. In an [`Event`](crate::Event), the lowest bit of the lock is set for
    /// one thread of each round.
    pub const MET: u64 = 13 << 60;
    /// The thread gives its processor up while it waits in user space (`sched_yield`).
    pub const YIELDED: u64 = 14 << 60;
    /// The thread sleeps for a time (`nanosleep`, `usleep`).
    pub const NAPPED: u64 = 15 << 60;
    /// Place of a semaphore's value. No address has these bits.
    pub const VALUE: u32 = 48;
    /// Bits of the kind. No address has them.
    pub const MASK: u64 = 0xf << 60;
}

/// Returns the hash by which a slot is found. Two different pairs of lock and site share a hash
/// with a probability of 2^-64, and would then count together.
#[inline(always)]
pub fn key(lock: u64, site: u64) -> u64 {
    // Two odd constants without a simple ratio: the fractions of the golden ratio and of pi.
    let key = lock
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(site.wrapping_mul(0x243f_6a88_85a3_08d3));
    // Both products have their best bits at the top. 0 is an unused slot.
    (key ^ (key >> 29)).max(1)
}

/// Number of locks over which the cost of a lock that is not at hand is measured.
pub const FAR_LOCKS: usize = 1 << 12;

/// Kind of a lock.
#[repr(u16)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `pthread_mutex_t`.
    Mutex = 0,
    /// `pthread_spinlock_t`.
    Spin = 1,
    /// `pthread_rwlock_t`.
    ReadWrite = 2,
    /// A lock that the program records itself.
    Own = 3,
    /// A condition, a semaphore, a barrier, or a place of waits in user space: not a lock.
    Other = 4,
}

/// Number of hold times that an entry has room for without a histogram.
pub const FIRST_HOLDS: usize = 12;

/// Unit of the offsets of entries.
pub const ENTRY_UNIT: u64 = 64;

/// Returns the offset of the entry of a slot with this count.
#[inline(always)]
pub const fn entry_of(count: u64) -> u64 {
    (count & (EVENT - 1)) * ENTRY_UNIT
}

/// Number of events after which a slot's count is 0 again. The slot's entry then adds them.
pub const MOST_EVENTS: u64 = 1 << (u64::BITS - EVENT.trailing_zeros());

/// Times of one kind of event of one lock at one call site by one thread, in ticks. The events are
/// counted in the [`Slot`].
///
/// The holds are of two strata, each with a sum and a histogram: those that are timed in any case
/// (a thread's first ones, and an entry's first ones), and those that are timed by chance.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Address of the lock.
    pub lock: u64,
    /// Return address of the call, with a kind of [`event`].
    pub site: u64,
    /// Offset of the [`Lock`].
    pub record: u64,
    /// Number of acquisitions whose hold is timed in any case, and is over.
    pub early_count: u64,
    /// Total of these holds.
    pub early_ticks: u64,
    /// Number of acquisitions whose hold was timed by chance, and is over.
    pub chance_count: u64,
    /// Total of these holds.
    pub chance_ticks: u64,
    /// Longest timed hold, with the time that its thread had lost its processor.
    pub hold_max: u64,
    /// First timed holds of both strata; those by chance have [`BY_CHANCE`] set.
    pub first_holds: [u32; FIRST_HOLDS],
    /// Time for which a thread had lost its processor within the early holds. Totals, histograms
    /// and `first_holds` are without it.
    pub early_lost: u64,
    /// The same for the holds by chance.
    pub chance_lost: u64,
    /// Offset of the histogram of early holds; 0 while `first_holds` has all.
    pub early_histogram: u64,
    /// Offset of the histogram of holds by chance; 0 while `first_holds` has all.
    pub chance_histogram: u64,
    /// Number of acquisitions that had to wait, or of waits for a condition. A wait that has not
    /// ended counts.
    pub contended: u64,
    /// Offset of the [`Waits`] of these; 0 before the first timed one.
    pub waits: u64,
    /// Not used.
    pub reserved: [u64; 2],
    /// Number of events beyond those that the slot has room for.
    pub more_events: u64,
    /// Number of acquisitions whose hold is timed in any case, over or not.
    pub early_begun: u64,
}

/// Mark of a hold that was timed by chance, in [`Entry::first_holds`].
pub const BY_CHANCE: u32 = 1 << 31;

/// A lock that was acquired while another was held.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Pair {
    /// Address of the lock that was held, the latest one.
    pub outer: u64,
    /// Address of the lock that was acquired; 0 for an empty place of the table.
    pub inner: u64,
    /// Return address of the first acquisition of the outer lock.
    pub outer_site: u64,
    /// Return address of the first acquisition of the inner lock.
    pub inner_site: u64,
    /// Number of acquisitions by a call that may wait: the first one, and for each timed one the
    /// number of acquisitions that it stands for. 0 if there was none.
    pub waiting: u64,
    /// The same for calls that do not wait, which cannot be part of a deadlock.
    pub tried: u64,
}

/// Records of a lock that its owners share. It follows runs of acquisitions by one thread, from an
/// acquisition that is in the sample to the first one by another thread.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug)]
pub struct Lock {
    /// Address of the lock.
    pub address: u64,
    /// Offsets of two further locks, in units of 64 bytes: a bit of the hash selects one.
    pub children: [u32; 2],
    /// Index of the thread whose run is followed; 0 if none is.
    pub thread: u32,
    /// CPU where an acquisition of the run was last in the sample, and [`NEXT_IS_SEEN`].
    pub cpu: u16,
    /// [`Kind`].
    pub kind: u16,
    /// Acquisitions in the run since it is followed, as far as they are known.
    pub run: u32,
    /// Longest such run.
    pub longest_run: u32,
    /// Number of acquisitions in the sample whose next one was seen.
    pub followed: u32,
    /// Number of locks that were destroyed at this address.
    pub destroyed: u32,
    /// Of the followed acquisitions, those whose next one was by another thread, by distance.
    pub hand_overs: [u32; DISTANCES],
    /// Entry of the run's acquisition that was seen last, in units of [`ENTRY_UNIT`].
    pub entry: u32,
    /// Number of that entry's events then, modulo 2^32.
    pub events: u32,
    /// Pace at which its waits are timed. It is in a line of its own: threads that wait read it.
    pub pace: Pace,
}

/// Mark in [`Lock::cpu`]: the run's latest acquisition is in the sample, and the next one tells who
/// followed it.
pub const NEXT_IS_SEEN: u16 = 1 << 15;

/// A text.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Text {
    /// Offset of the text before.
    pub next: u64,
    /// Number of bytes, which follow.
    pub bytes: u64,
}

/// An event other than a lock operation that the recorder noticed. A text of two parts follows,
/// each ended by a zero.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Note {
    /// Offset of the note before.
    pub next: u64,
    /// Time in ticks.
    pub ticks: u64,
    /// Kind, of [`note`].
    pub kind: u32,
    /// Process. For an executed program, it may be a child of the file's process.
    pub pid: u32,
    /// [`note::FAILED`] and [`note::CLEARED`], or 0.
    pub state: u32,
    /// Number of bytes of the text.
    pub bytes: u32,
}

/// Maximum number of notes in a file.
pub const MOST_NOTES: u64 = 4096;

/// Kinds and states of a [`Note`].
pub mod note {
    /// A library was opened with `RTLD_DEEPBIND`. The text is its name.
    pub const DEEP: u32 = 1;
    /// A library was opened in a namespace of its own. The text is its name.
    pub const NAMESPACE: u32 = 2;
    /// A lock function was found behind the recorder: its name, and the path of who asked.
    pub const SEARCHED: u32 = 3;
    /// A lock function is defined before the recorder: its name, and the path of who defines it.
    pub const BEFORE: u32 = 4;
    /// A program was executed. The text is its path.
    pub const EXECUTED: u32 = 5;
    /// A semaphore was waited for.
    pub const SEMAPHORES: u32 = 6;
    /// A mutex of standard C was acquired.
    pub const STANDARD: u32 = 7;
    /// A child of a fork has no records: it could not make its file. The text is its name. The
    /// child writes this to the records of its parent.
    pub const CHILD: u32 = 8;
    /// State of a program that could not be executed.
    pub const FAILED: u32 = 1;
    /// State of a program whose environment does not name the recorder.
    pub const CLEARED: u32 = 2;
}

/// Returns the place of an address among [`HEADS`].
pub fn head_of(address: u64) -> usize {
    (mixed(address) >> (64 - HEAD_BITS)) as usize
}

/// Returns a hash of a number, whose upper bits are the best.
pub fn mixed(number: u64) -> u64 {
    // Fibonacci hashing: 2^64 divided by the golden ratio (Knuth, vol. 3, 6.4).
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

const _: () = assert!(size_of::<Window>() == 4096);
const _: () = assert!(size_of::<Lock>() == 128);
const _: () = assert!(core::mem::offset_of!(Lock, pace) == 64);
const _: () = assert!(size_of::<Entry>() == 192);
const _: () = assert!(core::mem::offset_of!(Entry, first_holds) == 64);
const _: () = assert!(core::mem::offset_of!(Thread, held) == 64);
const _: () = assert!(MAX_BYTES / ENTRY_UNIT <= EVENT);
