//! A stage for threads of this machine that know how much they do.

use lockyard::Native;
use lockyard_scenarios::Stage;

pub(crate) struct Threads;

impl Stage for Threads {
    type Host = Native;
    fn work(_: f64) {}
    fn stopping() -> bool {
        unreachable!("the tasks know how much they do")
    }
    fn operation_done() {}
}
