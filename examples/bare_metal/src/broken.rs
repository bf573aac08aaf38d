//! Two mistakes, which the torture must notice.

use core::sync::atomic::{AtomicBool, Ordering};
use lock_api::{GuardSend, RawMutex};
use lockyard::Context;

/// A lock that is taken by a load and a store, so that two processors can take it at once. There is
/// a pause in between, as on a virtual processor that is pre-empted there: emulated processors
/// rarely run side by side for long.
pub(crate) struct LoadAndStore(AtomicBool);

// SAFETY: none. It does not exclude, which is the point: it guards only words that stand any write.
unsafe impl RawMutex for LoadAndStore {
    #[allow(clippy::declare_interior_mutable_const)] // as in `lock_api`
    const INIT: Self = LoadAndStore(AtomicBool::new(false));
    type Guard = GuardSend;

    fn lock(&self) -> GuardSend {
        loop {
            if let Some(guard) = self.try_lock() {
                return guard;
            }
            core::hint::spin_loop();
        }
    }

    fn try_lock(&self) -> Option<GuardSend> {
        // Acquire: pairs with the release in `unlock`, as in a correct lock. Only the atomicity is
        // missing.
        if self.0.load(Ordering::Acquire) {
            return None;
        }
        core::hint::spin_loop();
        self.0.store(true, Ordering::Relaxed);
        Some(GuardSend::new())
    }

    fn is_locked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    unsafe fn unlock(&self, _: GuardSend) {
        self.0.store(false, Ordering::Release); // pairs with the acquire in `try_lock`
    }
}

/// A context that leaves interrupts on.
pub(crate) struct InterruptsOn;

impl Context for InterruptsOn {
    type State = ();

    fn enter() {}
    fn leave((): ()) {}
}
