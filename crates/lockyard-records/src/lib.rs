//! Layout of the file in which a profiled program records its locks.
//!
//! `lockyard-preload` writes the file inside the program, through a shared mapping, and
//! `lockyard-profile` reads it after the program has ended, however it ended. So the file needs no
//! last step: each structure is complete once something points to it. All numbers are little-endian
//! (x86-64), and references are offsets from the beginning of the file; 0 stands for none.
//!
//! ```text
//! Header ── threads ──> Thread ── next ──> Thread ...
//!   │                     ├── entries ──> [u32; n] ──> Entry (lock and call site, by a thread)
//!   │                     │                              ├──> histograms of holds and of waits
//!   │                     │                              └──> Lock
//!   │                     ├── pairs ────> [Pair; n]    (a lock taken while another was held)
//!   │                     └── held        (locks that the thread holds now)
//!   ├── heads ─────────> [u64; HEADS] ──> Lock ── next ──> Lock ...
//!   └── maps ──────────> Text ── next ──> Text ...        (copies of /proc/self/maps)
//! ```
//!
//! An [`Entry`] or a [`Pair`] is written by its thread only. A [`Lock`] is written by the thread
//! that holds the lock.

#![no_std]

pub mod histogram;

/// First bytes of a file.
pub const MAGIC: u64 = u64::from_le_bytes(*b"lockyard");

/// Version of the layout.
pub const VERSION: u32 = 1;

/// Environment variable with the directory for the files. Without it nothing is recorded.
pub const DIRECTORY: &str = "LOCKYARD_RECORDS";

/// Environment variable that asks the library for the cost of a recorded pair. The process then
/// ends before the program starts.
pub const MEASURE_COST: &str = "LOCKYARD_RECORDS_COST";

/// Name of the file in the directory that tells where each CPU is: [`Cpu`] for each of [`CPUS`].
pub const TOPOLOGY: &str = "cpus";

/// End of the name of a file with records.
pub const EXTENSION: &str = ".records";

/// Maximum size of a file in bytes. What does not fit is counted as lost.
pub const MAX_BYTES: u64 = 1 << 30;

/// Number of lists of locks. The hash of an address selects one.
pub const HEADS: usize = 1 << 14;

/// Number of CPUs that the topology has room for. Numbers beyond it are taken modulo this.
pub const CPUS: usize = 4096;

/// Place of a CPU.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cpu {
    /// Number of the core, different for each core of the host.
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
    /// 1 while a thread makes the file longer.
    pub growing: u64,
    /// Offset of the latest [`Thread`].
    pub threads: u64,
    /// Number of threads that recorded something.
    pub thread_count: u64,
    /// Offset of a [`Thread`] whose thread has ended, for the next one; a stack. The upper 16 bits
    /// count changes.
    pub unused: u64,
    /// Offset of the lists of [`Lock`]s.
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
    /// The same for one of [`FAR_LOCKS`] locks, in a mixed order.
    pub far_cost: u64,
    /// Name of the program's file, ended by a zero.
    pub program: [u8; 512],
}

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
    /// Time of the acquisition in ticks.
    pub since: u64,
    /// Number of further acquisitions by the same thread: of a recursive lock, or to read.
    pub depth: u64,
}

/// Records of a thread. A thread that begins takes over those of one that has ended.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Thread {
    /// Offset of the thread before.
    pub next: u64,
    /// Offset of the next unused one, if this one is unused.
    pub next_unused: u64,
    /// Number of the thread, from 1.
    pub number: u32,
    /// The system's number of the thread.
    pub tid: u32,
    /// Offset of a table of offsets of [`Entry`], in units of [`ENTRY_UNIT`].
    pub entries: u64,
    /// Size of the table: a power of two.
    pub entry_room: u32,
    /// Number of entries.
    pub entry_count: u32,
    /// Offset of a table of [`Pair`].
    pub pairs: u64,
    /// Size of the table: a power of two.
    pub pair_room: u32,
    /// Number of pairs.
    pub pair_count: u32,
    /// Number of locks that the thread holds.
    pub held_count: u64,
    /// Locks that the thread holds, in the order of acquisition.
    pub held: [Held; MAX_HELD],
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
}

/// Number of hold times that an entry has room for without a histogram.
pub const FIRST_HOLDS: usize = 8;

/// Unit of the offsets in a table of entries.
pub const ENTRY_UNIT: u64 = 64;

/// Acquisitions of one lock at one call site by one thread. Times are in ticks. What changes at
/// each acquisition and release is in the first cache line.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Address of the lock.
    pub lock: u64,
    /// Return address of the call.
    pub site: u64,
    /// Offset of the [`Lock`].
    pub record: u64,
    /// Number of acquisitions by a call of a lock function.
    pub acquisitions: u64,
    /// Number of releases.
    pub holds: u64,
    /// Total time between acquisitions and releases.
    pub hold_ticks: u64,
    /// Longest of them.
    pub hold_max: u64,
    /// Offset of the histogram of holds; 0 while [`first_holds`](Self::first_holds) has them all.
    pub hold_histogram: u64,
    /// First hold times.
    pub first_holds: [u32; FIRST_HOLDS],
    /// Number of acquisitions that had to wait.
    pub contended: u64,
    /// Total time of the contended acquisitions.
    pub wait_ticks: u64,
    /// Longest of them.
    pub wait_max: u64,
    /// Offset of the histogram of waits; 0 before the first.
    pub wait_histogram: u64,
    /// Number of acquisitions to read.
    pub reads: u64,
    /// Number of calls that gave up: a `trylock`, or a timeout.
    pub failed: u64,
    /// Number of acquisitions of a lock that the thread already held.
    pub nested: u64,
    /// Number of waits for a condition.
    pub condition_waits: u64,
    /// Total time of them.
    pub condition_ticks: u64,
}

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
    /// Number of acquisitions.
    pub count: u64,
    /// Number of those by a call that does not wait, which cannot be part of a deadlock.
    pub tried: u64,
}

/// Records of a lock that its owners share.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug)]
pub struct Lock {
    /// Address of the lock.
    pub address: u64,
    /// Number of the thread that had it last.
    pub last_thread: u32,
    /// CPU on which that thread's run began.
    pub last_cpu: u16,
    /// [`Kind`].
    pub kind: u16,
    /// Acquisitions by that thread in a row.
    pub run: u32,
    /// Longest such run.
    pub longest_run: u32,
    /// Number of locks that were destroyed at this address.
    pub destroyed: u32,
    /// Offset of the next lock of the list, in units of 64 bytes.
    pub next: u32,
    /// Acquisitions after another thread's, by distance.
    pub hand_overs: [u64; DISTANCES],
}

/// A text.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Text {
    /// Offset of the text before.
    pub next: u64,
    /// Number of bytes, which follow.
    pub bytes: u64,
}

/// Returns the place of an address among [`HEADS`].
pub fn head_of(address: u64) -> usize {
    (mixed(address >> 2) >> 50) as usize
}

/// Returns a hash of a number, whose upper bits are the best.
pub fn mixed(number: u64) -> u64 {
    // Fibonacci hashing: 2^64 divided by the golden ratio (Knuth, vol. 3, 6.4).
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

const _: () = assert!(size_of::<Lock>() == 64);
const _: () = assert!(HEADS == 1 << (64 - 50));
const _: () = assert!(size_of::<Entry>() == 192);
const _: () = assert!(core::mem::offset_of!(Entry, first_holds) == 64);
const _: () = assert!(MAX_BYTES <= (u32::MAX as u64) * ENTRY_UNIT);
