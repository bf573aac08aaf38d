//! Safe code that erases a parked waiter's announcement, which would lose its wake-up.

use lockyard::platform::{Host, Native, Ordering, Word};

fn main() {
    for place in Native::announcements(0, 0) {
        place.store(0, Ordering::SeqCst);
        place.0.store(0, Ordering::SeqCst);
    }
}
