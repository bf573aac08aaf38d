//! The part of a [`Host`](lockyard::platform::Host) over another one that is the other one's: a host of this crate says what is different about it, and
//! a new operation of hosts is forwarded in one place. (A trait cannot have the defaults of another value of itself, so it is a macro.)

/// In an `impl Host` whose atomics are those of the host `$inner`: everything but slots and memory is that host's.
macro_rules! forward_to {
    ($inner:ident) => {
        fn numa_node() -> u32 {
            $inner::numa_node()
        }
        fn queue_node(
            slot: lockyard::platform::Slot,
            level: u32,
        ) -> &'static lockyard::platform::QueueNode<$inner::Atomics> {
            $inner::queue_node(slot, level)
        }
        fn announcements(lock: usize, turn: u32) -> &'static [lockyard::platform::U64<Self>] {
            $inner::announcements(lock, turn)
        }
        fn relax() {
            $inner::relax()
        }
        fn yield_now() {
            $inner::yield_now()
        }
        fn now() -> core::time::Duration {
            $inner::now()
        }
        fn park(
            word: &lockyard::platform::U32<Self>,
            expected: u32,
            timeout: Option<core::time::Duration>,
        ) {
            $inner::park(word, expected, timeout)
        }
        fn unpark(word: *const lockyard::platform::U32<Self>, count: u32) {
            $inner::unpark(word, count)
        }
        fn count(event: lockyard::platform::Event) {
            $inner::count(event)
        }
        fn begins(activity: lockyard::platform::Activity) -> lockyard::platform::Activity {
            $inner::begins(activity)
        }
        fn goes_back_to(before: lockyard::platform::Activity) {
            $inner::goes_back_to(before)
        }
        fn execution() -> lockyard::platform::Execution {
            $inner::execution()
        }
        fn interruption_fence() {
            $inner::interruption_fence()
        }
        #[track_caller]
        fn wait_until<W: lockyard::platform::Word>(
            word: &W,
            order: lockyard::platform::Ordering,
            predicate: impl FnMut(W::Int) -> bool,
        ) -> W::Int {
            $inner::wait_until(word, order, predicate)
        }
        #[track_caller]
        fn wait_within<W: lockyard::platform::Word>(
            word: &W,
            order: lockyard::platform::Ordering,
            polls: u32,
            predicate: impl FnMut(W::Int) -> bool,
        ) -> Result<W::Int, lockyard::platform::BudgetSpent<W::Int>> {
            $inner::wait_within(word, order, polls, predicate)
        }
        #[track_caller]
        fn wait_yielding<W: lockyard::platform::Word>(
            word: &W,
            order: lockyard::platform::Ordering,
            predicate: impl FnMut(W::Int) -> bool,
        ) -> W::Int {
            $inner::wait_yielding(word, order, predicate)
        }
        fn fatal(message: &'static str) -> ! {
            $inner::fatal(message)
        }
    };
}

pub(crate) use forward_to;
