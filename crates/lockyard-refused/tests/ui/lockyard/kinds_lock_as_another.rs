//! A lock of one kind passed to code for another kind: a word keeps its kind.

use lockyard::on::RawTicketLock8;
use lockyard::{Native, QSpinLock, RawQSpinLock, RawTicketLock, TicketLock};

fn raw(_: &RawQSpinLock) {}
fn with_data(_: &QSpinLock<u32>) {}

fn main() {
    raw(&RawTicketLock::new());
    with_data(&TicketLock::new(0));
    let _: RawTicketLock8<Native> = RawTicketLock::new();
}
