//! Data about each lock of a process.

use crate::modules::Modules;
use crate::order::{self, Circle};
use crate::records::{Events, Records};
use crate::symbols::{Site, Symbols, Variable};
use crate::times::Holds;
use crate::waits::Waits;
use lockyard_records::{DISTANCES, Kind, Pair, event};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Size of a cache line in bytes.
const LINE: u64 = 64;

/// Maximum number of pairs whose call sites are named.
const MOST_PAIRS: usize = 1000;

/// Acquisitions of a lock at a call site, or of all sites together.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Acquisitions by a call of a lock function.
    pub acquisitions: u64,
    /// Number of acquisitions that had to wait.
    pub contended: u64,
    /// Number of acquisitions to read.
    pub reads: u64,
    /// Calls that gave up.
    pub failed: u64,
    /// Acquisitions by a thread that already held the lock.
    pub nested: u64,
    /// Waits for a condition.
    pub condition_waits: u64,
    /// Times of these waits.
    pub condition: Waits,
    /// Times from acquisition to release.
    pub holds: Holds,
    /// Times of the contended acquisitions.
    pub waits: Waits,
    /// The readers' and the writers' shares, for a reader-writer lock.
    pub accesses: Option<Box<Accesses>>,
}

/// Acquisitions of a reader-writer lock, by access.
#[derive(Clone, Debug, Default)]
pub struct Accesses {
    /// Number of acquisitions to read.
    pub reads: Access,
    /// All other acquisitions.
    pub writes: Access,
}

/// Acquisitions of one kind of access.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Acquisitions by a call of a lock function.
    pub acquisitions: u64,
    /// Number of acquisitions that had to wait.
    pub contended: u64,
    /// Times from acquisition to release.
    pub holds: Holds,
    /// Times of the contended acquisitions.
    pub waits: Waits,
}

impl Accesses {
    /// Returns both accesses with their names, in words and in JSON.
    pub fn each(&self) -> [(&'static str, &Access); 2] {
        [("reads", &self.reads), ("writes", &self.writes)]
    }
}

impl Access {
    fn add(&mut self, other: &Access) {
        self.acquisitions += other.acquisitions;
        self.contended += other.contended;
        self.holds.add(&other.holds);
        self.waits.add(&other.waits);
    }

    /// Returns the share of acquisitions that had to wait.
    pub fn contended_share(&self) -> f64 {
        if self.acquisitions == 0 { 0.0 } else { self.contended as f64 / self.acquisitions as f64 }
    }
}

impl Counts {
    /// Returns the counts of one kind of events, also by access if the lock is a reader-writer
    /// lock.
    fn of(events: &Events, is_read_write: bool) -> Counts {
        let mut counts = Counts::of_all(events);
        if is_read_write {
            let access = Access {
                acquisitions: counts.acquisitions,
                contended: counts.contended,
                holds: counts.holds.clone(),
                waits: counts.waits.clone(),
            };
            counts.accesses = Some(Box::new(match events.kind {
                event::READ => Accesses { reads: access, ..Accesses::default() },
                _ => Accesses { writes: access, ..Accesses::default() },
            }));
        }
        counts
    }

    fn of_all(events: &Events) -> Counts {
        let mut counts = Counts { holds: events.holds.clone(), ..Counts::default() };
        let waits = events.waits.clone();
        match events.kind {
            event::CONDITION => counts.condition = waits,
            _ => (counts.contended, counts.waits) = (waits.count, waits),
        }
        match events.kind {
            event::READ => (counts.acquisitions, counts.reads) = (events.count, events.count),
            event::NESTED => counts.nested = events.count,
            event::FAILED => counts.failed = events.count,
            event::CONDITION => counts.condition_waits = events.count,
            _ => counts.acquisitions = events.count,
        }
        counts
    }

    /// Adds other counts.
    pub(crate) fn add(&mut self, other: &Counts) {
        self.acquisitions += other.acquisitions;
        self.contended += other.contended;
        self.reads += other.reads;
        self.failed += other.failed;
        self.nested += other.nested;
        self.condition_waits += other.condition_waits;
        self.condition.add(&other.condition);
        self.holds.add(&other.holds);
        self.waits.add(&other.waits);
        if let Some(other) = &other.accesses {
            let accesses = self.accesses.get_or_insert_default();
            accesses.reads.add(&other.reads);
            accesses.writes.add(&other.writes);
        }
    }

    /// Returns a lock's heat, as a key for comparisons: waits come first.
    pub(crate) fn hotness(&self) -> (u64, u64, u64) {
        (self.waits.ticks, self.contended, self.acquisitions)
    }

    /// Returns the share of acquisitions that had to wait.
    pub fn contended_share(&self) -> f64 {
        if self.acquisitions == 0 { 0.0 } else { self.contended as f64 / self.acquisitions as f64 }
    }
}

/// A call site of a lock.
#[derive(Clone, Debug)]
pub struct SiteCounts {
    /// The site.
    pub site: Site,
    /// Acquisitions there.
    pub counts: Counts,
}

/// A lock.
#[derive(Clone, Debug)]
pub struct Lock {
    /// Address.
    pub address: u64,
    /// `mutex`, `spinlock`, `rwlock`, or `own`.
    pub kind: &'static str,
    /// The variable, or the memory.
    pub variable: Variable,
    /// All sites together.
    pub counts: Counts,
    /// Longest run of acquisitions by one thread, among the acquisitions that were followed.
    pub longest_run: u32,
    /// Acquisitions in the sample whose next acquisition was seen.
    pub followed: u64,
    /// Acquisitions in the sample whose next acquisition was by another thread, by distance.
    pub hand_overs: [u64; DISTANCES],
    /// Locks that were destroyed at this address.
    pub destroyed: u32,
    /// Call sites, the most frequent first.
    pub sites: Vec<SiteCounts>,
    /// Addresses of other locks in the same cache line.
    pub same_line: Vec<u64>,
}

/// A process.
#[derive(Clone, Debug)]
pub struct Process {
    /// ID of the process.
    pub pid: u32,
    /// Its parent.
    pub parent: u32,
    /// True if it is a fork that has not executed another program.
    pub forked: bool,
    /// Path of the program's file.
    pub program: String,
    /// Name of the program, as it was called; or of a child of a fork.
    pub name: String,
    /// Time of the start in ticks.
    pub start: u64,
    /// Threads that took a lock.
    pub threads: u64,
    /// Locks; the lock for which threads waited longest comes first.
    pub locks: Vec<Lock>,
    /// Locks that were taken while another was held, the most frequent first.
    pub pairs: Vec<Pair>,
    /// Contradicting orders.
    pub circles: Vec<Circle>,
    /// Names of the call sites of the pairs.
    pub pair_sites: HashMap<u64, Site>,
    /// Locks that were held at the end: address, and the system's ID of the thread.
    pub held: Vec<(u64, u32)>,
    /// Events that had no room in the file.
    pub lost: u64,
    /// Reason for which the file could not grow, as in the header.
    pub full: u64,
    /// Calls from within the recorder.
    pub inside: u64,
    /// Releases without an acquisition by the same thread.
    pub unmatched: u64,
    /// Acquisitions beyond the number of locks that a thread can hold.
    pub too_deep: u64,
}

fn kind(number: u16) -> &'static str {
    match number {
        number if number == Kind::Mutex as u16 => "mutex",
        number if number == Kind::Spin as u16 => "spinlock",
        number if number == Kind::ReadWrite as u16 => "rwlock",
        _ => "own",
    }
}

impl Process {
    /// Returns the data from the records of a process.
    pub fn of(records: &Records, symbols: &mut Symbols) -> Process {
        let modules = Modules::of(&records.maps);
        // A lock that the program records itself shows only by its reads that it is a reader-writer
        // lock.
        let reads = records.events.iter().filter(|events| events.kind == event::READ);
        let read: HashSet<u64> = reads.map(|events| events.lock).collect();
        let kind_of = |lock: u64| records.locks.get(&lock).map(|lock| lock.kind);
        let mut by_lock: BTreeMap<u64, BTreeMap<u64, Counts>> = BTreeMap::new();
        // Later kinds are not locks.
        let is_lock = |of: &&Events| {
            let timed_out =
                of.kind == event::FAILED && kind_of(of.lock) == Some(Kind::Other as u16);
            of.kind < event::SIGNALLED && !timed_out
        };
        let of_locks = records.events.iter().filter(is_lock);
        for events in of_locks {
            let lock = events.lock;
            let is_read_write =
                read.contains(&lock) || kind_of(lock) == Some(Kind::ReadWrite as u16);
            let site = by_lock.entry(lock).or_default().entry(events.site).or_default();
            site.add(&Counts::of(events, is_read_write));
        }
        let mut names: HashMap<u64, Site> = HashMap::new();
        let mut name = |address: u64| {
            names.entry(address).or_insert_with(|| symbols.site(&modules, address)).clone()
        };
        let mut locks = Vec::new();
        for (address, sites) in by_lock {
            let mut counts = Counts::default();
            let mut list = Vec::new();
            for (site, of_site) in sites {
                counts.add(&of_site);
                list.push(SiteCounts { site: name(site), counts: of_site });
            }
            list.sort_by_key(|of| std::cmp::Reverse(of.counts.acquisitions));
            let shared = records.locks.get(&address);
            locks.push(Lock {
                address,
                kind: shared.map_or("own", |lock| kind(lock.kind)),
                variable: Variable::default(),
                counts,
                longest_run: shared.map_or(0, |lock| lock.longest_run),
                hand_overs: shared.map_or([0; DISTANCES], |lock| lock.hand_overs.map(u64::from)),
                followed: shared.map_or(0, |lock| u64::from(lock.followed)),
                destroyed: shared.map_or(0, |lock| lock.destroyed),
                sites: list,
                same_line: Vec::new(),
            });
        }
        let pairs = order::joined(&records.pairs);
        let circles = order::circles(&pairs);
        let shown = pairs.iter().take(MOST_PAIRS).chain(circles.iter().flatten());
        let sites = shown.flat_map(|pair| [pair.outer_site, pair.inner_site]);
        let pair_sites = sites.map(|address| (address, name(address))).collect();
        for lock in &mut locks {
            lock.variable = symbols.variable(&modules, lock.address);
        }
        note_lines(&mut locks);
        let order = |a: &Lock, b: &Lock| b.counts.hotness().cmp(&a.counts.hotness());
        locks.sort_by(|a, b| order(a, b).then(a.address.cmp(&b.address)));
        let header = &records.header;
        Process {
            pid: header.pid,
            parent: header.parent,
            forked: header.forked != 0,
            program: records.program.clone(),
            name: records.name.clone(),
            start: header.start,
            threads: header.thread_count,
            locks,
            pairs,
            circles,
            pair_sites,
            held: records.held.iter().map(|(thread, held)| (held.lock, *thread)).collect(),
            lost: header.lost,
            full: header.full,
            inside: header.inside,
            unmatched: header.unmatched,
            too_deep: header.too_deep,
        }
    }

    /// Returns the number of acquisitions of all locks.
    pub fn acquisitions(&self) -> u64 {
        self.locks.iter().map(|lock| lock.counts.acquisitions).sum()
    }

    /// Returns the number of acquisitions of all locks that had to wait.
    pub fn contended(&self) -> u64 {
        self.locks.iter().map(|lock| lock.counts.contended).sum()
    }

    /// Returns the number of acquisitions and releases that were recorded, with those of waits.
    pub fn recorded(&self) -> u64 {
        let of = |lock: &Lock| {
            lock.counts.acquisitions + lock.counts.nested + lock.counts.condition_waits
        };
        self.locks.iter().map(of).sum()
    }
}

/// Records which locks begin in the same cache line.
fn note_lines(locks: &mut [Lock]) {
    let mut lines: HashMap<u64, Vec<u64>> = HashMap::new();
    for lock in locks.iter() {
        lines.entry(lock.address / LINE).or_default().push(lock.address);
    }
    for lock in locks {
        let others = lines.get(&(lock.address / LINE)).into_iter().flatten();
        lock.same_line = others.copied().filter(|address| *address != lock.address).collect();
    }
}
