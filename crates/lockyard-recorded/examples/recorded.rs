//! Locks that are compiled into a program, recorded: `lockyard profile -- target/.../recorded`.

use lockyard_recorded::Recorded;

/// Number of additions by each thread.
const EACH: u64 = 10_000;

type Mutex<T> = lock_api::Mutex<Recorded<lockyard::RawMutex>, T>;

type RwLock<T> = lock_api::RwLock<Recorded<lockyard::RawRwLock>, T>;

static SUM: Mutex<u64> = Mutex::new(0);

static STEP: RwLock<u64> = RwLock::new(0);

fn add() {
    for _ in 0..EACH {
        *SUM.lock() += *STEP.read();
    }
}

fn main() {
    *STEP.write() = 1;
    std::thread::scope(|scope| {
        scope.spawn(add);
        scope.spawn(add);
    });
    assert_eq!(*SUM.lock(), 2 * EACH);
}
