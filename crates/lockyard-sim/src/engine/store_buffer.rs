//! The store buffer. Stores wait in it for their lines, and reach the cache in order.

use super::activity::Activity;
use super::event::Event;
use super::line::{Miss, State, Waiter};
use super::state::Engine;
use super::thread::BufferedStore;
use crate::op::Op;

impl Engine {
    #[inline(never)]
    pub(super) fn begin_store(&mut self, thread: u32, address: usize, mask: u64, value: u64) {
        let now = self.now();
        let entry = &mut self.threads[thread as usize];
        if entry.stores.len() as u64 >= self.machine.numbers().store_buffer {
            entry.stalled = true;
            self.wait_for_stores(thread);
            return;
        }
        entry.stores.push_back(BufferedStore { address, mask, value });
        self.ledger.count().stores += 1;
        self.at(now + 1, Event::Resume { thread, value: 0 });
        if self.machine.numbers().early_stores > 0 {
            self.request_early(thread, address);
        }
        self.drain(thread);
    }

    /// The unit at `address` as the thread sees it: memory, updated with the thread's own buffered
    /// stores.
    pub(super) fn value(&self, thread: u32, address: usize) -> u64 {
        let mut value = self.arena.read(address);
        for store in &self.threads[thread as usize].stores {
            if store.address == address {
                value = (value & !store.mask) | (store.value & store.mask);
            }
        }
        value
    }

    /// Commits buffered stores in order, as long as their lines are at the core. Then continues an
    /// operation that waited for the buffer.
    pub(super) fn drain(&mut self, thread: u32) {
        let index = thread as usize;
        while !self.threads[index].store_waits {
            let Some(&store) = self.threads[index].stores.front() else { break };
            let BufferedStore { address, mask, value } = store;
            let line = self.line_index(address);
            let core = self.threads[index].core;
            let now = self.now();
            let core_line = self.core_line(line, core);
            if self.core_lines[core_line as usize].state != State::Modified {
                self.threads[index].store_waits = true;
                self.attach(thread, core_line, true, true);
            } else if self.defer_to_holder(thread, core_line, now) {
                self.core_lines[core_line as usize].waiters.push(Waiter { thread, store: true });
                self.threads[index].store_waits = true;
            } else {
                self.threads[index].stores.pop_front();
                // The thread does not wait while the line is brought into the first level.
                self.promote(core_line);
                self.count_touch(thread, line, address);
                let old = self.arena.read(address);
                let new = (old & !mask) | (value & mask);
                self.arena.write(address, new);
                if new != old {
                    self.wake_sleepers(core_line, Some(thread));
                }
            }
        }
        let entry = &mut self.threads[index];
        let room = entry.stores.is_empty()
            || entry.stalled
                && matches!(entry.op.get(), Op::Store { .. })
                && (entry.stores.len() as u64) < self.machine.numbers().store_buffer;
        if room && std::mem::take(&mut entry.stalled) {
            self.start_working(thread);
            self.execute(thread);
        }
        self.finish_if_drained(thread);
    }

    /// Finishes a thread whose code has returned, once its stores are in memory.
    pub(super) fn finish_if_drained(&mut self, thread: u32) {
        let entry = &mut self.threads[thread as usize];
        if entry.activity == Activity::Draining && entry.stores.is_empty() {
            let core = entry.core;
            self.set_activity(thread, Activity::Finished);
            self.share_reorder_buffer(core);
            self.live -= 1;
            self.over |= self.live == 0;
        }
    }

    /// Requests the line of a store to `address` that enters the buffer. The request counts from
    /// the time when the store could have executed. If another core takes the line before the
    /// store's turn, it is requested again.
    pub(super) fn request_early(&mut self, thread: u32, address: usize) {
        let now = self.now();
        let entry = &self.threads[thread as usize];
        let (core, early) = (entry.core, entry.ahead.early);
        let line = self.line_index(address);
        let core_line = self.core_line(line, core);
        let cache = &self.core_lines[core_line as usize];
        if cache.state == State::Modified || cache.miss != Miss::None {
            return;
        }
        // While the line was at the core, or had been requested, no request was needed.
        let head_start = early.min(now - cache.changed_at);
        self.issue(core_line, true, head_start);
    }
}
