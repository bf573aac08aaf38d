//! State of one simulated hardware thread.

use super::accounting::failure_streaks::Streak;
use super::accounting::regions::Spent;
use super::accounting::spending::Spending;
use super::activity::Activity;
use super::branch_prediction::Predictor;
use super::core_threads::Work;
use super::coroutine::SimulatedThread;
use super::reorder_buffer::RunAhead;
use crate::op::Op;
use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::Location;

/// A store that waits in a store buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct BufferedStore {
    pub address: usize,
    /// Mask of the bits that are written.
    pub mask: u64,
    pub value: u64,
}

/// The last load of a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastLoad {
    /// Index in [`Engine::followed`](super::state::Engine::followed).
    pub followed: u32,
    pub line: u32,
}

/// A simulated hardware thread.
pub(super) struct Thread {
    pub core: u16,
    pub coroutine: Option<SimulatedThread>,
    /// Last operation that the thread requested. Its code writes the operation here, and the engine
    /// uses it in place. A copy of a value that was just written would stall the host's processor
    /// until the value has reached its cache.
    pub op: Cell<Op>,
    /// Source location of the operation; `None` before the first one.
    pub location: Option<&'static Location<'static>>,
    /// `true` while the operation waits for a line, for its turn, or for a wake-up.
    pub pending: bool,
    /// `true` while the operation waits for the store buffer.
    pub stalled: bool,
    /// The store buffer, oldest first.
    pub stores: VecDeque<BufferedStore>,
    /// `true` while the oldest store waits for its line.
    pub store_waits: bool,
    /// The core line that the current locked operation holds.
    pub held_line: u32,
    /// Predicts the outcomes of compare-exchanges and swaps.
    pub predictor: Predictor,
    /// Delay after the current locked operation, because its outcome was mispredicted, in cycles.
    pub redirect: u64,
    /// Number of sleeps so far. The number keeps an old wake-up from ending a new sleep.
    pub generation: u32,
    /// Time when the thread last began to sleep in the kernel.
    pub parked_at: u64,
    /// `true` while the kernel serves a call of the thread.
    pub served: bool,
    pub activity: Activity,
    /// Region or part of the program that the thread's code is in.
    pub doing: lockyard::platform::Activity,
    pub work: Option<Work>,
    pub ahead: RunAhead,
    pub streak: Streak,
    pub last_load: Option<LastLoad>,
    pub spending: Spending,
    /// Cycles for which the thread's operations waited for lines or for the store buffer.
    pub waited: u64,
    pub spent: Spent,
    /// Number of ends of work that were planned so far.
    pub work_plans: u32,
}

impl Thread {
    /// Returns a thread on `core` that has not begun. Without its coroutine it cannot run.
    pub(super) fn new(core: u16, coroutine: Option<SimulatedThread>) -> Self {
        Thread {
            core,
            coroutine,
            op: Cell::new(Op::Fence),
            location: None,
            pending: false,
            stalled: false,
            stores: VecDeque::new(),
            store_waits: false,
            held_line: 0,
            predictor: Predictor::default(),
            redirect: 0,
            generation: 0,
            parked_at: 0,
            served: false,
            activity: Activity::Yielding,
            doing: Default::default(),
            work: None,
            ahead: RunAhead::default(),
            streak: Streak::default(),
            last_load: None,
            spending: Spending::default(),
            waited: 0,
            spent: Spent::default(),
            work_plans: 0,
        }
    }

    /// The operation, if it waits for a line, for its turn, or for a wake-up.
    #[inline(always)]
    pub(super) fn pending(&self) -> Option<Op> {
        self.pending.then(|| self.op.get())
    }
}
