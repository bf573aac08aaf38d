//! Torture of the native locks: threads that start and end take every kind of lock in random ways,
//! while signals interrupt them, the process forks, CPU sets shrink, and other processes exit in
//! the middle of the same work. The threads also use reclamation and tables. Some allocations of
//! these fail if the program's allocator is [`Refusing`](super::refusals::Refusing).
//!
//! Each visit of a lock checks two stamps, so two simultaneous holders are counted as a violation.
//! A watchdog ends the process if no thread makes progress.

use super::process::again;
use super::random::Random;
use super::refusals::{refused, refusing};
use lockyard::lock::{LaneLock, Queued, TimedLock};
use lockyard::platform::{Host, Instant};
use lockyard::reclaim::Owned;
use lockyard::{Domain, LockRef, Native, RawSpinLock};
use lockyard_controls::DoesNotExclude;
use lockyard_tables::buffers::{Configuration, GetError, Key};
use lockyard_tables::connections::{Bits, NEVER, Tuple};
use lockyard_tables::{
    BlockCache, ConnectionTable, Handle, HandleTable, IdTable, LockedHandleTable,
};
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Time without progress after which the process is stuck.
const STUCK_AFTER: Duration = Duration::from_secs(60);
/// Number of threads that live at a time.
const THREADS: usize = 6;

/// A lock, and the stamps of its holders.
struct Stamped<K: LaneLock<Native>> {
    lock: RawSpinLock<K>,
    owner: AtomicU64,
}

static VIOLATIONS: AtomicU64 = AtomicU64::new(0);
static VISITS: AtomicU64 = AtomicU64::new(0);
static HANDLED: AtomicU64 = AtomicU64::new(0);
static STOP: AtomicBool = AtomicBool::new(false);

impl<K: LaneLock<Native>> Stamped<K> {
    fn new() -> Self {
        Stamped { lock: RawSpinLock::new(), owner: AtomicU64::new(0) }
    }

    /// Stays inside for a while. `me` is not 0, and differs between visits at the same time.
    fn stay(&self, me: u64) {
        // Relaxed: the stamps must order nothing. Exchanges see the newest value.
        count_violation_unless(self.owner.swap(me, Ordering::Relaxed) == 0);
        for _ in 0..me % 64 {
            std::hint::spin_loop();
        }
        if me.is_multiple_of(128) {
            thread::yield_now();
        }
        count_violation_unless(self.owner.swap(0, Ordering::Relaxed) == me);
        VISITS.fetch_add(1, Ordering::Relaxed);
    }
}

/// A lock of any kind. `visit` returns false if the lock was not taken.
trait Lock: Send + Sync {
    fn wait(&self, me: u64);
    fn try_now(&self, me: u64) -> bool;
    /// Waits at most this long. Locks without timed waits try once.
    fn wait_for(&self, me: u64, _time: Duration) -> bool {
        self.try_now(me)
    }
}

impl<K: LaneLock<Native> + Send + Sync> Lock for Stamped<K> {
    fn wait(&self, me: u64) {
        let held = self.lock.acquire();
        self.stay(me);
        // SAFETY: taken above.
        unsafe { self.lock.release(held) };
    }

    fn try_now(&self, me: u64) -> bool {
        let Some(held) = self.lock.try_acquire() else { return false };
        self.stay(me);
        // SAFETY: taken above.
        unsafe { self.lock.release(held) };
        true
    }
}

/// A lock with timed waits.
struct Timed<K: TimedLock<Native>>(Stamped<K>);

impl<K: TimedLock<Native> + Send + Sync> Lock for Timed<K> {
    fn wait(&self, me: u64) {
        self.0.wait(me);
    }

    fn try_now(&self, me: u64) -> bool {
        self.0.try_now(me)
    }

    fn wait_for(&self, me: u64, time: Duration) -> bool {
        let Some(held) = self.0.lock.acquire_until(Instant::now() + time) else { return false };
        self.0.stay(me);
        // SAFETY: taken above.
        unsafe { self.0.lock.release(held) };
        true
    }
}

fn stamped<K: LaneLock<Native> + Send + Sync + 'static>() -> Box<dyn Lock> {
    Box::new(Stamped::<K>::new())
}

fn timed<K: TimedLock<Native> + Send + Sync + 'static>() -> Box<dyn Lock> {
    Box::new(Timed(Stamped::<K>::new()))
}

/// Returns one lock of each kind.
fn locks() -> Vec<Box<dyn Lock>> {
    macro_rules! made {
        (true $lock:ty) => {
            timed::<$lock>()
        };
        (false $lock:ty) => {
            stamped::<$lock>()
        };
    }
    macro_rules! each {
        ($($kind:ident {
            name: $name:literal, title: $title:literal, lock: $lock:ty, waits: $waits:ident,
            fifo: $fifo:literal, keeps_a_node: $keeps_a_node:literal, timed: $timed:tt,
            $($fact:tt)*
        })*) => {
            vec![$(made!($timed $lock)),*]
        };
    }
    lockyard::for_each_lock!(each)
}

/// State that the threads share.
struct World {
    locks: Vec<Box<dyn Lock>>,
    /// Taken by handlers only, so that no thread is interrupted while it has it.
    of_handlers: Stamped<Queued>,
    table: IdTable<u64>,
    handles: HandleTable<[u64; 4]>,
    /// Handle of the newest object of `handles`, or 0.
    newest_handle: AtomicU64,
    exclusive: LockedHandleTable<u64>,
    counted: LockRef,
    domain: Domain,
    newest: AtomicU64,
    connections: ConnectionTable<u64>,
    buffers: BlockCache<u64>,
}

/// Maximum number of buffers, which is less than the number of keys.
const BUFFERS: u64 = 6;
/// Number of keys of buffers and of connections.
const KEYS: usize = 16;

fn count_violation_unless(holds: bool) {
    if !holds {
        VIOLATIONS.fetch_add(1, Ordering::Relaxed);
    }
}

impl World {
    fn new() -> Self {
        World {
            locks: locks(),
            of_handlers: Stamped::new(),
            table: IdTable::new(),
            handles: HandleTable::new(),
            newest_handle: AtomicU64::new(0),
            exclusive: LockedHandleTable::new(),
            counted: LockRef::from_count(1),
            domain: Domain::new(),
            newest: AtomicU64::new(0),
            connections: ConnectionTable::new(Bits::for_connections(KEYS)),
            buffers: BlockCache::new(Configuration::DEFAULT.with_limit(BUFFERS)),
        }
    }

    fn act(&self, random: &mut Random) {
        let me = random.next() | 1;
        let lock = &self.locks[random.below(self.locks.len())];
        match random.below(15) {
            0..4 => lock.wait(me),
            4 | 5 => drop(lock.try_now(me)),
            6 | 7 => drop(lock.wait_for(me, Duration::from_micros(random.below(300) as u64))),
            8 => {
                self.counted.get();
                count_violation_unless(self.counted.put_not_zero());
            }
            9 => {
                let id = match refusing(random.next(), || self.table.insert(me)) {
                    Ok(id) => id,
                    Err(error) => return count_violation_unless(error.into_inner() == me),
                };
                count_violation_unless(
                    self.table.lock(id).is_some_and(|entry| *entry == me)
                        && self.table.remove(id) == Some(me),
                );
            }
            10 => {
                let guard = self.domain.enter();
                // Acquire: pairs with the exchange below.
                let bits = self.newest.load(Ordering::Acquire);
                // SAFETY: `newest` names an object that is retired to the guard's domain.
                let seen = unsafe { guard.deref_bits::<[u64; 4]>(bits) };
                count_violation_unless(
                    seen.is_none_or(|numbers| numbers.iter().all(|n| *n == numbers[0])),
                );
            }
            11 => self.use_connections(random),
            12 => self.use_buffers(random),
            13 => self.use_handles(random, me),
            _ => {
                let new = match refusing(random.next(), || Owned::new([me; 4])) {
                    Ok(new) => new,
                    Err(value) => return count_violation_unless(value == [me; 4]),
                };
                // Release publishes the new object, acquire takes over the old one.
                let old = self.newest.swap(new.into_bits(), Ordering::AcqRel);
                // SAFETY: the exchange took the object out of reach.
                unsafe { self.domain.retire_owned(Owned::<[u64; 4]>::from_bits(old)) };
            }
        }
    }

    /// Inserts, finds or removes a connection, whose value is the number of its key.
    fn use_connections(&self, random: &mut Random) {
        let number = random.below(KEYS) as u16;
        let end = |port| (Ipv4Addr::LOCALHOST.into(), port);
        let tuple = Tuple { protocol: 6, source: end(number), destination: end(1_000) };
        let value = u64::from(number);
        match random.below(3) {
            0 => {
                let made = refusing(random.next(), || {
                    self.connections.get_or_insert_with(&tuple, NEVER, || value)
                });
                count_violation_unless(made.map_or(true, |found| *found == value));
            }
            1 => {
                let found = self.connections.look_up(&tuple);
                count_violation_unless(found.is_none_or(|(found, _)| *found == value));
            }
            _ => {
                let removed = self.connections.remove(&tuple);
                count_violation_unless(removed.is_none_or(|removed| *removed == value));
            }
        }
    }

    /// Inserts, finds and removes objects by handles. An object is removed only by the thread that
    /// has replaced its handle.
    fn use_handles(&self, random: &mut Random, me: u64) {
        match random.below(3) {
            0 => {
                let new = match refusing(random.next(), || self.handles.insert([me; 4])) {
                    Ok(new) => new,
                    Err(error) => return count_violation_unless(error.into_inner() == [me; 4]),
                };
                // Relaxed: insertions and look-ups have the necessary orderings.
                let old = self.newest_handle.swap(new.to_bits(), Ordering::Relaxed);
                let removed = Handle::from_bits(old).is_none_or(|old| self.handles.remove(old));
                count_violation_unless(removed);
            }
            1 => {
                let newest = Handle::from_bits(self.newest_handle.load(Ordering::Relaxed));
                let found = newest.and_then(|handle| self.handles.get(handle));
                count_violation_unless(
                    found.is_none_or(|numbers| numbers.iter().all(|n| *n == numbers[0])),
                );
            }
            _ => {
                let handle = match refusing(random.next(), || self.exclusive.insert(me)) {
                    Ok(handle) => handle,
                    Err(error) => return count_violation_unless(error.into_inner() == me),
                };
                count_violation_unless(
                    self.exclusive.lock(handle).is_some_and(|entry| *entry == me)
                        && self.exclusive.remove(handle) == Some(me)
                        && self.exclusive.lock(handle).is_none(),
                );
            }
        }
    }

    /// Fills, finds or removes a buffer, whose value is the number of its key. Filling may fail.
    fn use_buffers(&self, random: &mut Random) {
        let number = random.below(KEYS) as u64;
        let key = Key::new(0, number);
        let fails = random.below(4) == 0;
        match random.below(8) {
            0 => drop(self.buffers.remove(key)),
            1 => {
                let found = self.buffers.look_up(key);
                count_violation_unless(found.is_none_or(|found| *found == number));
            }
            _ => {
                let fill = || if fails { Err(number) } else { Ok(number) };
                let seed = random.next();
                match refusing(seed, || self.buffers.get_or_fill(key, fill)) {
                    Ok(found) => count_violation_unless(*found == number),
                    Err(GetError::Fill(why)) => count_violation_unless(fails && why == number),
                    Err(_) => {}
                }
            }
        }
        count_violation_unless(self.buffers.living() <= BUFFERS);
    }

    /// Takes and releases a lock of each kind. In the child of a fork, locks that other threads
    /// held are lost, so the child uses new locks.
    fn take_new_locks() {
        fn take<K: LaneLock<Native>>() {
            let lock = RawSpinLock::<K>::new();
            let held = lock.acquire();
            assert!(lock.try_acquire().is_none() && lock.is_held());
            // SAFETY: taken above.
            unsafe { lock.release(held) };
            assert!(!lock.is_held());
        }
        macro_rules! each {
            ($($kind:ident {
                name: $name:literal, title: $title:literal, lock: $lock:ty, $($fact:tt)*
            })*) => {
                $(take::<$lock>();)*
            };
        }
        lockyard::for_each_lock!(each);
    }
}

/// The world of the signal handler.
static WORLD: std::sync::OnceLock<World> = std::sync::OnceLock::new();

extern "C" fn handler(_: libc::c_int) {
    let Some(world) = WORLD.get() else { return };
    let me = HANDLED.fetch_add(1, Ordering::Relaxed) << 1 | 1;
    // A handler may wait only for locks that no interrupted thread has.
    world.of_handlers.wait(me);
    world.locks[me as usize / 2 % world.locks.len()].try_now(me);
}

/// Lets signals in, or keeps them out, for the calling thread.
fn signals(allowed: bool) {
    // SAFETY: the set is initialised by `sigemptyset`, and lives during the calls.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGUSR1);
        let how = if allowed { libc::SIG_UNBLOCK } else { libc::SIG_BLOCK };
        libc::pthread_sigmask(how, &raw const set, std::ptr::null_mut());
    }
}

fn install_handler() {
    // SAFETY: the handler only uses atomics and locks that a handler may use.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut());
    }
}

/// Starts a thread that acts a random number of times. It gets its slot before signals can
/// interrupt it, because the first lease may allocate.
fn start(world: &'static World, seed: u64, most: usize) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let mut random = Random::new(seed);
        Native::slot();
        signals(true);
        for _ in 0..1 + random.below(most) {
            if STOP.load(Ordering::Relaxed) {
                break;
            }
            world.act(&mut random);
        }
        signals(false);
    })
}

/// Forks; the child takes new locks and exits. Returns a complaint if it does not.
fn fork(world_seed: u64) -> Option<String> {
    // SAFETY: the child calls only the library, and functions that a forked child may call.
    match unsafe { libc::fork() } {
        -1 => Some(format!("fork failed: {}", std::io::Error::last_os_error())),
        0 => {
            // SAFETY: the child ends here, by the alarm if it hangs.
            unsafe {
                libc::alarm(30);
                World::take_new_locks();
                libc::_exit(0)
            }
        }
        child => {
            let mut status = 0;
            // SAFETY: the child was made above.
            while unsafe { libc::waitpid(child, &raw mut status, 0) } == -1 {}
            (status != 0)
                .then(|| format!("the child of a fork ended with {status:#x} ({world_seed})"))
        }
    }
}

/// Gives every thread of the process a set of CPUs.
#[cfg(target_os = "linux")]
fn set_cpus(cpus: impl Iterator<Item = usize>) {
    // SAFETY: the set is plain data, and lives during the calls. Threads that have ended are
    // refused, which changes nothing.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        cpus.for_each(|cpu| libc::CPU_SET(cpu, &mut set));
        for entry in std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
            let Ok(id) = entry.file_name().to_string_lossy().parse::<libc::pid_t>() else {
                continue;
            };
            libc::sched_setaffinity(id, size_of_val(&set), &raw const set);
        }
    }
}

/// Gives every thread of the process a random subset of the CPUs in `all`.
fn shrink_cpus(all: &[usize], random: &mut Random) {
    let count = 1 + random.below(all.len());
    set_cpus(random.some_of(all.len(), count).into_iter().map(|index| all[index]));
}

#[cfg(target_os = "linux")]
fn cpus() -> Vec<usize> {
    // SAFETY: the set is plain data, and lives during the call.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of_val(&set), &raw mut set);
        (0..libc::CPU_SETSIZE as usize).filter(|&cpu| libc::CPU_ISSET(cpu, &set)).collect()
    }
}

#[cfg(not(target_os = "linux"))]
fn set_cpus(_: impl Iterator<Item = usize>) {}

#[cfg(not(target_os = "linux"))]
fn cpus() -> Vec<usize> {
    vec![0]
}

/// Result of a torture.
#[derive(Clone, Copy, Debug, Default)]
pub struct Done {
    /// Critical sections.
    pub visits: u64,
    /// Signals that were handled.
    pub signals: u64,
    /// Threads that were started.
    pub threads: u64,
    /// Forks whose child took new locks and exited.
    pub forks: u64,
    /// Processes that exited in the middle of it.
    pub exits: u64,
    /// Changes of the CPU set.
    pub cpu_sets: u64,
    /// Allocations that were refused.
    pub refusals: u64,
}

/// Argument of a process that exits while its threads have locks and wait for them.
pub const EXITS: &str = "--exits";

/// Starts threads, and exits with code 0 in the middle.
pub fn exit_in_the_middle(seed: u64) -> ! {
    signals(false);
    let world = WORLD.get_or_init(World::new);
    let mut random = Random::new(seed);
    for _ in 0..THREADS {
        drop(start(world, random.next(), usize::MAX / 2));
    }
    thread::sleep(Duration::from_micros(random.below(20_000) as u64));
    std::process::exit(0)
}

/// Starts a process that exits in the middle. Returns a complaint if it does not end well.
fn exits(seed: u64) -> Option<String> {
    match again(EXITS, seed) {
        Ok(status) if status.success() => None,
        Ok(status) => Some(format!("a process that exits ended with {status}")),
        Err(complaint) => Some(complaint),
    }
}

/// Tortures for `time`. It starts this program again with [`EXITS`], which must call
/// [`exit_in_the_middle`].
///
/// # Errors
///
/// A violation, or a process that ended badly.
pub fn torture(seed: u64, time: Duration) -> Result<Done, String> {
    signals(false);
    let world = WORLD.get_or_init(World::new);
    install_handler();
    STOP.store(false, Ordering::Relaxed);
    let (all_cpus, mut random, mut done) = (cpus(), Random::new(seed), Done::default());
    let before = (VISITS.load(Ordering::Relaxed), HANDLED.load(Ordering::Relaxed));
    let refused_before = refused();
    let (mut threads, mut complaint) = (Vec::new(), None);
    let began = std::time::Instant::now();
    let mut progress = (before.0, began);
    while began.elapsed() < time && complaint.is_none() {
        threads.retain(|thread: &thread::JoinHandle<()>| !thread.is_finished());
        while threads.len() < THREADS {
            threads.push(start(world, random.next(), 400));
            done.threads += 1;
        }
        // SAFETY: the handler is installed.
        unsafe { libc::kill(libc::getpid(), libc::SIGUSR1) };
        match random.below(100) {
            0..3 => {
                complaint = fork(seed);
                done.forks += 1;
            }
            3 => {
                complaint = exits(random.next());
                done.exits += 1;
            }
            4..7 => {
                shrink_cpus(&all_cpus, &mut random);
                done.cpu_sets += 1;
            }
            _ => thread::sleep(Duration::from_micros(random.below(1_000) as u64)),
        }
        let visits = VISITS.load(Ordering::Relaxed);
        if visits != progress.0 {
            progress = (visits, std::time::Instant::now());
        } else if progress.1.elapsed() > STUCK_AFTER {
            return Err(format!("stuck: no section within {} s", STUCK_AFTER.as_secs()));
        }
    }
    STOP.store(true, Ordering::Relaxed);
    set_cpus(all_cpus.iter().copied());
    for thread in threads {
        thread.join().map_err(|_| "a thread panicked".to_owned())?;
    }
    done.visits = VISITS.load(Ordering::Relaxed) - before.0;
    done.signals = HANDLED.load(Ordering::Relaxed) - before.1;
    done.refusals = refused() - refused_before;
    match (complaint, VIOLATIONS.load(Ordering::Relaxed)) {
        (Some(complaint), _) => Err(complaint),
        (None, 0) => Ok(done),
        (None, violations) => Err(format!("{violations} violations")),
    }
}

/// Tortures a lock that does not exclude, until a violation is counted.
///
/// # Errors
///
/// Fails if no violation is found within 30 seconds, because the torture would then show nothing.
pub fn torture_finds_a_broken_lock() -> Result<(), String> {
    let lock = Stamped::<DoesNotExclude>::new();
    let before = VIOLATIONS.load(Ordering::Relaxed);
    let began = std::time::Instant::now();
    let found = || VIOLATIONS.load(Ordering::Relaxed) != before;
    thread::scope(|scope| {
        for thread in 1..=4_u64 {
            let lock = &lock;
            scope.spawn(move || {
                let mut random = Random::new(thread);
                while !found() && began.elapsed() < Duration::from_secs(30) {
                    // Many visits yield inside.
                    lock.wait((random.next() << 8 | thread << 4) & !0xf | 1 << 7);
                }
            });
        }
    });
    let was_found = found();
    VIOLATIONS.store(before, Ordering::Relaxed);
    if was_found {
        Ok(())
    } else {
        Err("the lock that does not exclude was not noticed".to_owned())
    }
}
