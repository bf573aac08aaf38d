//! Locks of a user's crate, for every back-end of the command.

use lockyard::Native;
use lockyard::lock::LaneLock;
use lockyard_measure::attribution::Accounted;
use lockyard_scenarios::{OnHost, OwnLock};
use lockyard_sim::Simulated;

/// Returns the lock algorithm `K` as a lock with the name that scripts use (`lock = "mine"`), for
/// [`main_with`](crate::main_with).
///
/// `K` runs on this host, on this host with accounting of CPU time (`--attribution`), and on the
/// simulated machine. An algorithm that is implemented for every host runs on all of them.
/// [`OwnLock::fifo`] and [`OwnLock::keeping_a_node`] say more about the lock.
pub const fn own_lock<K>(name: &'static str) -> OwnLock
where
    K: LaneLock<Native> + LaneLock<Accounted> + LaneLock<Simulated>,
{
    let hosts = const {
        &[OnHost::of::<K, Native>(), OnHost::of::<K, Accounted>(), OnHost::of::<K, Simulated>()]
    };
    OwnLock::new(name, hosts)
}
