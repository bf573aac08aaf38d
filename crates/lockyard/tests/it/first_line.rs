//! A user's first line: each name at the crate's root can be constructed by a `let` without a type.

use lockyard::comparators::{ClhLock, McsLock, QSpinLockCmpxchgGrab, TicketLockAsmLoop};
use lockyard::kind::{Choice, Kind, StaticChoice};
use lockyard::{
    ChosenLock, Condvar, Domain, LockRef, Mutex, PageRef, PvQSpinLock, PvTicketLock, QSpinLock,
    RecursiveRwLock, RwLock, TestAndSetLock, TicketLock,
};

#[test]
fn a_lock() {
    let (mutex, condvar) = (Mutex::new(0), Condvar::new());
    condvar.wait_while(&mut mutex.lock(), |value| *value != 0);
    let queued = QSpinLock::new(0);
    let ticket = TicketLock::new(0);
    let pv_queued = PvQSpinLock::new(0);
    let pv_ticket = PvTicketLock::new(0);
    let test_and_set = TestAndSetLock::new(0);
    *queued.lock() += 1;
    *ticket.lock() += 2;
    *pv_queued.lock() += 3;
    *pv_ticket.lock() += 4;
    *test_and_set.lock() += 5;
    let sum = *queued.lock() + *ticket.lock() + *pv_queued.lock();
    assert_eq!(sum + *pv_ticket.lock() + *test_and_set.lock(), 15);
}

#[test]
fn a_reader_writer_lock() {
    let (lock, recursive) = (RwLock::new(1), RecursiveRwLock::new(2));
    *lock.write() += *recursive.read();
    assert_eq!(*lock.read() + *recursive.read(), 5);
}

#[test]
fn a_comparator() {
    let (mcs, clh) = (McsLock::new(1), ClhLock::new(2));
    let (grab, assembly) = (QSpinLockCmpxchgGrab::new(3), TicketLockAsmLoop::new(4));
    assert_eq!(*mcs.lock() + *clh.lock() + *grab.lock() + *assembly.lock(), 10);
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
        mutex: Mutex<u32>,
        read_write: RwLock<u32>,
        recursive: RecursiveRwLock<u32>,
        condvar: Condvar,
        queued: QSpinLock<u32>,
        ticket: TicketLock<u32>,
        pv_queued: PvQSpinLock<u32>,
        pv_ticket: PvTicketLock<u32>,
        test_and_set: TestAndSetLock<u32>,
        domain: Domain,
    }
    let all = Everything::default();
    assert_eq!((*all.mutex.lock(), all.condvar.notify_all()), (0, 0));
    assert_eq!(*all.read_write.read() + *all.recursive.read(), 0);
    assert_eq!(*all.queued.lock() + *all.ticket.lock() + *all.pv_queued.lock(), 0);
    assert_eq!(*all.pv_ticket.lock() + *all.test_and_set.lock(), 0);
    assert_eq!(all.domain.pending(), 0);
}

/// Guards have names, for functions that return them.
#[test]
fn a_guard() {
    fn mutex(lock: &Mutex<u32>) -> lockyard::MutexGuard<'_, u32> {
        lock.lock()
    }
    fn read(lock: &RwLock<u32>) -> lockyard::RwLockReadGuard<'_, u32> {
        lock.read()
    }
    fn write(lock: &RwLock<u32>) -> lockyard::RwLockWriteGuard<'_, u32> {
        lock.write()
    }
    fn upgradable(lock: &RwLock<u32>) -> lockyard::RwLockUpgradableReadGuard<'_, u32> {
        lock.upgradable_read()
    }
    fn queued(lock: &QSpinLock<u32>) -> lockyard::QSpinLockGuard<'_, u32> {
        lock.lock()
    }
    fn ticket(lock: &TicketLock<u32>) -> lockyard::TicketLockGuard<'_, u32> {
        lock.lock()
    }
    fn pv_queued(lock: &PvQSpinLock<u32>) -> lockyard::PvQSpinLockGuard<'_, u32> {
        lock.lock()
    }
    fn pv_ticket(lock: &PvTicketLock<u32>) -> lockyard::PvTicketLockGuard<'_, u32> {
        lock.lock()
    }
    fn test_and_set(lock: &TestAndSetLock<u32>) -> lockyard::TestAndSetLockGuard<'_, u32> {
        lock.lock()
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
    let sum = *queued(&QSpinLock::new(1)) + *ticket(&TicketLock::new(2));
    let sum = sum + *pv_queued(&PvQSpinLock::new(3)) + *pv_ticket(&PvTicketLock::new(4));
    assert_eq!(sum + *test_and_set(&TestAndSetLock::new(5)) + *mutex(&Mutex::new(6)), 21);
    assert_eq!(lockref(&LockRef::new(1)).count(), lockyard::lockref::Count::Live(1));
    drop(inside(&Domain::new()));
}
