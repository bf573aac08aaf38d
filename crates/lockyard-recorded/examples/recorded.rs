//! A lock that is compiled into a program, recorded: `lockyard profile -- target/.../recorded`.

use lockyard_recorded::Recorded;

/// Number of additions by each thread.
const EACH: u64 = 10_000;

type Mutex<T> = lock_api::Mutex<Recorded<lockyard::RawMutex>, T>;

static SUM: Mutex<u64> = Mutex::new(0);

fn add() {
    for _ in 0..EACH {
        *SUM.lock() += 1;
    }
}

fn main() {
    std::thread::scope(|scope| {
        scope.spawn(add);
        scope.spawn(add);
    });
    assert_eq!(*SUM.lock(), 2 * EACH);
}
