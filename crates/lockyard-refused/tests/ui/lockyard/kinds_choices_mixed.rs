//! Locks of two choices, and of a choice and of a kind: each may have another kind.

use lockyard::kind::{Choice, Kind, StaticChoice};
use lockyard::{RawChosenLock, RawTicketLock};

struct Cache;
static CACHE: Choice = Choice::new(Kind::Ticket);
impl StaticChoice for Cache {
    const CHOICE: &'static Choice = &CACHE;
}

struct Table;
static TABLE: Choice = Choice::new(Kind::Ticket);
impl StaticChoice for Table {
    const CHOICE: &'static Choice = &TABLE;
}

fn main() {
    let (cache, table) = (RawChosenLock::<Cache>::new(), RawChosenLock::<Table>::new());
    let ticket = RawTicketLock::new();
    // SAFETY: none of this compiles.
    unsafe {
        cache.release(table.acquire());
        cache.release(ticket.acquire());
        ticket.release(cache.acquire());
    }
}
