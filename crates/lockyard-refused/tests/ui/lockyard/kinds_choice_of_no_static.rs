//! A choice that is not a `static`: each use of a constant could be a separate choice.

use lockyard::kind::{Choice, Kind, StaticChoice};

struct Cache;
impl StaticChoice for Cache {
    const CHOICE: &'static Choice = &Choice::new(Kind::Ticket);
}

fn main() {
    let _ = Cache::CHOICE.choose(Kind::Queued);
}
