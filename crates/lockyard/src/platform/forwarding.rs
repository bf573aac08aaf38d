//! Forwarding from one [`Host`](super::Host) to another. A host implements only its own
//! differences, and a new host operation is forwarded in one place. (This is a macro, because a
//! trait cannot take its defaults from another implementation.)

/// Forwards groups of operations to the host `$inner`, in an `impl Host` with the same atomics.
///
/// | group | operations |
/// | --- | --- |
/// | `slots` | `slot` |
/// | `memory` | `allocate`, `deallocate` |
/// | `activity` | `begin_activity`, `resume_activity` |
/// | `rest` | all others |
///
/// ```
/// use lockyard::platform::{Host, Native, Slot};
///
/// /// This machine, without slots.
/// struct NoSlots;
///
/// // SAFETY: everything is `Native`'s; slots are withheld, which a host may do.
/// unsafe impl Host for NoSlots {
///     type Atomics = <Native as Host>::Atomics;
///     const SLOTS: u32 = 1;
///     fn slot() -> Option<Slot> {
///         None
///     }
///     lockyard::forward_to_host!(Native: memory, activity, rest);
/// }
/// assert_eq!(NoSlots::execution(), Native::execution());
/// ```
#[macro_export]
macro_rules! forward_to_host {
    ($inner:ident: $($group:ident),+) => {
        $($crate::forward_to_host!(@$group $inner);)+
    };
    (@slots $inner:ident) => {
        #[inline(always)]
        fn slot() -> Option<$crate::platform::Slot> {
            $inner::slot()
        }
    };
    (@memory $inner:ident) => {
        #[inline(always)]
        fn allocate(
            layout: core::alloc::Layout,
            node: Option<u32>,
        ) -> Option<core::ptr::NonNull<u8>> {
            $inner::allocate(layout, node)
        }
        #[inline(always)]
        unsafe fn deallocate(memory: core::ptr::NonNull<u8>, layout: core::alloc::Layout) {
            // SAFETY: the caller promises what the inner host requires, and the inner host
            // allocated the memory.
            unsafe { $inner::deallocate(memory, layout) }
        }
    };
    (@activity $inner:ident) => {
        #[inline(always)]
        fn begin_activity(activity: $crate::platform::Activity) -> $crate::platform::Activity {
            $inner::begin_activity(activity)
        }
        #[inline(always)]
        fn resume_activity(before: $crate::platform::Activity) {
            $inner::resume_activity(before)
        }
    };
    (@rest $inner:ident) => {
        #[inline(always)]
        fn numa_node() -> u32 {
            $inner::numa_node()
        }
        #[inline(always)]
        fn queue_node(
            slot: $crate::platform::Slot,
            level: u32,
        ) -> &'static $crate::platform::QueueNode<<$inner as $crate::platform::Host>::Atomics> {
            $inner::queue_node(slot, level)
        }
        #[inline(always)]
        fn announcements(
            lock: usize,
            turn: u32,
        ) -> &'static [$crate::platform::Announcement<<$inner as $crate::platform::Host>::Atomics>]
        {
            $inner::announcements(lock, turn)
        }
        #[inline(always)]
        fn relax() {
            $inner::relax()
        }
        #[inline(always)]
        fn yield_now() {
            $inner::yield_now()
        }
        #[inline(always)]
        fn now() -> core::time::Duration {
            $inner::now()
        }
        #[inline(always)]
        fn park(
            word: &$crate::platform::U32<Self>,
            expected: u32,
            timeout: Option<core::time::Duration>,
        ) {
            $inner::park(word, expected, timeout)
        }
        #[inline(always)]
        fn unpark(word: *const $crate::platform::U32<Self>, count: u32) {
            $inner::unpark(word, count)
        }
        #[inline(always)]
        fn count(event: $crate::platform::Event) {
            $inner::count(event)
        }
        #[inline(always)]
        fn execution() -> $crate::platform::Execution {
            $inner::execution()
        }
        #[inline(always)]
        fn interruption_fence() {
            $inner::interruption_fence()
        }
        #[inline(always)]
        #[track_caller]
        fn wait_until<W: $crate::platform::Word>(
            word: &W,
            order: $crate::platform::Ordering,
            predicate: impl FnMut(W::Int) -> bool,
        ) -> W::Int {
            $inner::wait_until(word, order, predicate)
        }
        #[inline(always)]
        #[track_caller]
        fn wait_within<W: $crate::platform::Word>(
            word: &W,
            order: $crate::platform::Ordering,
            polls: u32,
            predicate: impl FnMut(W::Int) -> bool,
        ) -> Result<W::Int, $crate::platform::BudgetSpent<W::Int>> {
            $inner::wait_within(word, order, polls, predicate)
        }
        #[inline(always)]
        #[track_caller]
        fn wait_yielding<W: $crate::platform::Word>(
            word: &W,
            order: $crate::platform::Ordering,
            predicate: impl FnMut(W::Int) -> bool,
        ) -> W::Int {
            $inner::wait_yielding(word, order, predicate)
        }
        #[inline(always)]
        fn fatal(message: &'static str) -> ! {
            $inner::fatal(message)
        }
    };
}
