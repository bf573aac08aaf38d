//! Primitives with a fault. Each must be found, in each round of a soak, or the soak shows nothing.

use crate::backends::{
    NATIVE_ROUNDS, SIMULATED_ROUNDS, Search, Verdict, check_model, check_natively, check_simulated,
    native, simulated,
};
use crate::controls::{DoesNotExclude, LosesWakeUps};
use crate::hooks::{LostExchange, LostRelease, LostSet, NoFault, SkippedWait, Watched};
use crate::primitives::{LockrefQueued, locks};
use crate::program::{LockOp, LockProgram};
use lockyard::Native;
use lockyard::platform::hooked::Hooked;
use lockyard_sim::Simulated;

/// A faulty primitive on a back-end.
#[derive(Debug)]
pub struct Control {
    /// Primitive, fault and back-end.
    pub name: &'static str,
    run: fn() -> Verdict,
}

const THREE: [LockOp; 3] = [LockOp::Lock; 3];
type Threads = Hooked<Native, Watched<NoFault>>;

/// All controls. (A queued lock that loses its release on threads of the host is not among them: a
/// thread that is stopped while it waits would leave its queue node in use, which disturbs tests
/// that run the controls in one process.)
pub const CONTROLS: &[Control] = &[
    Control {
        name: "a lock that does not exclude, native",
        run: || native::<LockProgram<DoesNotExclude, Threads>>(&THREE, NATIVE_ROUNDS, 2_000),
    },
    Control {
        name: "a ticket lock that does not wait, native",
        run: || check_natively::<locks::Ticket, SkippedWait>(Search::UntilFound),
    },
    Control {
        name: "a test-and-set lock that is not set, native",
        run: || check_natively::<locks::TestAndSet, LostSet>(Search::UntilFound),
    },
    Control {
        name: "a lock that does not exclude, simulated",
        run: || simulated::<LockProgram<DoesNotExclude, Simulated>>(&THREE, SIMULATED_ROUNDS, 300),
    },
    Control {
        name: "a lock that loses wake-ups, simulated",
        run: || simulated::<LockProgram<LosesWakeUps, Simulated>>(&THREE, SIMULATED_ROUNDS, 300),
    },
    Control {
        name: "a queued lock that loses its release, simulated",
        run: || check_simulated::<locks::Queued, LostRelease>(Search::UntilFound),
    },
    Control {
        name: "a queued lock that does not wait, simulated",
        run: || check_simulated::<locks::Queued, SkippedWait>(Search::UntilFound),
    },
    Control {
        name: "an MCS lock that loses its release, simulated",
        run: || check_simulated::<locks::Mcs, LostRelease>(Search::UntilFound),
    },
    Control {
        name: "a lockref that loses an exchange, simulated",
        run: || check_simulated::<LockrefQueued, LostExchange>(Search::UntilFound),
    },
    Control {
        name: "a ticket lock that does not wait, model",
        run: || check_model::<locks::Ticket, SkippedWait>(Search::UntilFound),
    },
    Control {
        name: "a queued lock that loses an exchange, model",
        run: || check_model::<locks::Queued, LostExchange>(Search::UntilFound),
    },
];

/// Runs the control of a round, which all rounds share in turn.
///
/// # Errors
///
/// The control's name, if its fault is not found.
pub fn control(round: u64) -> Result<&'static str, &'static str> {
    let control = &CONTROLS[(round % CONTROLS.len() as u64) as usize];
    match (control.run)().caught {
        Some(_) => Ok(control.name),
        None => Err(control.name),
    }
}
