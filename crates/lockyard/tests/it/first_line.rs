//! A user's first line: each name at the crate's root can be constructed by a `let` without a type.

use lockyard::comparators::*;
use lockyard::kind::{Choice, Kind, StaticChoice};
use lockyard::*;

/// Guards have names too, for functions that return them.
#[test]
fn a_lock_and_its_guard() {
    macro_rules! each {
        ($($kind:ident {
            name: $name:literal, title: $title:literal, lock: $lock:ty, waits: $waits:ident,
            fifo: $fifo:literal, keeps_a_node: $keeps_a_node:literal, timed: $timed:literal,
            sources: [$($source:literal),*], public: [$($public:ident $guard:ident)?],
        })*) => {$($({
            let lock = $public::new(1);
            *lock.lock() += 1;
            fn take(lock: &$public<u32>) -> $guard<'_, u32> {
                lock.lock()
            }
            assert_eq!(*take(&lock), 2, $name);
            assert_eq!(*$public::<u32>::default().lock(), 0, $name);
        })?)*};
    }
    lockyard::for_each_lock!(each);
}

#[test]
fn a_condition_variable() {
    let (mutex, condvar) = (Mutex::new(0), Condvar::new());
    condvar.wait_while(&mut mutex.lock(), |value| *value != 0);
}

#[test]
fn a_reader_writer_lock() {
    let (lock, recursive) = (RwLock::new(1), RecursiveRwLock::new(2));
    *lock.write() += *recursive.read();
    assert_eq!(*lock.read() + *recursive.read(), 5);
    let (sharded, queued) = (ShardedRwLock::new(1), QRwLock::new(2));
    *sharded.write() += *queued.read();
    *queued.write() += *sharded.read();
    assert_eq!(*sharded.read() + *queued.read(), 8);
}

#[test]
fn a_sequence_lock() {
    let lock = SeqLock::new([1, 2]);
    fn write(lock: &SeqLock<[i32; 2]>) -> SeqLockGuard<'_, [i32; 2]> {
        lock.write()
    }
    write(&lock)[0] += 1;
    assert_eq!((lock.read(), SeqLock::<u32>::default().read()), ([2, 2], 0));
}

/// The choice must be named, because it decides the kind of the lock.
#[test]
fn a_lock_of_a_chosen_kind() {
    struct Cache;
    static CACHE: Choice = Choice::new(Kind::Ticket);
    impl StaticChoice for Cache {
        const CHOICE: &'static Choice = &CACHE;
    }
    let chosen = ChosenLock::<_, Cache>::new(0);
    *chosen.lock() += 1;
    assert_eq!(chosen.into_inner(), 1);
}

#[test]
fn a_reference_count() {
    let lockref = LockRef::new(1);
    assert!(lockref.get_not_dead());
    let page = PageRef::new(1);
    assert!(page.get_not_zero());
}

#[test]
fn a_domain() {
    let domain = Domain::new();
    drop(domain.enter());
    assert_eq!(domain.pending(), 0);
}

/// A type that is made without an argument has a default.
#[test]
fn a_default() {
    #[derive(Default)]
    struct Everything {
        read_write: RwLock<u32>,
        recursive: RecursiveRwLock<u32>,
        condvar: Condvar,
        domain: Domain,
    }
    let all = Everything::default();
    assert_eq!(all.condvar.notify_all(), 0);
    assert_eq!(*all.read_write.read() + *all.recursive.read(), 0);
    assert_eq!(all.domain.pending(), 0);
}

#[test]
fn a_guard() {
    fn read(lock: &RwLock<u32>) -> lockyard::RwLockReadGuard<'_, u32> {
        lock.read()
    }
    fn write(lock: &RwLock<u32>) -> lockyard::RwLockWriteGuard<'_, u32> {
        lock.write()
    }
    fn upgradable(lock: &RwLock<u32>) -> lockyard::RwLockUpgradableReadGuard<'_, u32> {
        lock.upgradable_read()
    }
    fn lockref(lockref: &LockRef) -> lockyard::LockRefGuard<'_> {
        lockref.lock()
    }
    fn inside(domain: &Domain) -> lockyard::DomainGuard<'_> {
        domain.enter()
    }
    let lock = RwLock::new(1);
    assert_eq!(*read(&lock) + *upgradable(&lock), 2);
    assert_eq!(*write(&lock), 1);
    assert_eq!(lockref(&LockRef::new(1)).count(), lockyard::lockref::Count::Live(1));
    drop(inside(&Domain::new()));
}
