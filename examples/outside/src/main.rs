//! The library on this machine: names at the root, and nothing to say but the value.

use lockyard::{LockRef, QSpinLock};

fn main() {
    let lock = QSpinLock::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..1000 {
                    *lock.lock() += 1;
                }
            });
        }
    });
    let entry = LockRef::new(1);
    assert!(entry.get_not_dead());
    println!("{} in a lock, {:?} in a lockref", *lock.lock(), entry.count());
}
