//! Two threads that change a lockref's count through one guard: nothing would exclude them.

use lockyard::LockRef;

fn main() {
    let lockref: LockRef = LockRef::new(1);
    let guard = lockref.lock();
    std::thread::scope(|scope| {
        scope.spawn(|| guard.set_count(0));
        scope.spawn(|| guard.set_count(0));
    });
}
