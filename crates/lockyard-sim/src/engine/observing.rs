//! Reports to a run's observer. Most runs have none.

use super::accounting::phase::CyclePhase;
use super::line::State;
use super::observer::{LineHolder, Observer};
use super::state::Engine;

impl Engine {
    /// Tells `observer` the present state of threads and lines, and then all changes from now on.
    pub(crate) fn observe(&mut self, mut observer: Box<dyn Observer>) {
        let now = self.now();
        for cache in &self.core_lines {
            let holder = match cache.state {
                State::Modified => LineHolder::Core(cache.core.into()),
                State::Shared => LineHolder::Shared,
                State::Invalid => continue,
            };
            observer.line(now, cache.line as usize, holder);
        }
        for (index, thread) in self.threads.iter().enumerate() {
            let line = thread.spending.line.map(|line| line as usize);
            observer.phase(now, index, thread.spending.phase, line);
        }
        self.observer = Some(observer);
    }

    #[cold]
    #[inline(never)]
    pub(super) fn tell_phase(&mut self, thread: u32, phase: Option<CyclePhase>, line: Option<u32>) {
        let now = self.now();
        if let Some(observer) = &mut self.observer {
            observer.phase(now, thread as usize, phase, line.map(|line| line as usize));
        }
    }

    /// Reports a line whose state at a core has changed from or to exclusive.
    #[cold]
    #[inline(never)]
    pub(super) fn tell_line_of(&mut self, core_line: u32) {
        let now = self.now();
        let cache = &self.core_lines[core_line as usize];
        let holder = match cache.state {
            State::Modified => LineHolder::Core(cache.core.into()),
            State::Shared => LineHolder::Shared,
            State::Invalid => LineHolder::Elsewhere,
        };
        if let Some(observer) = &mut self.observer {
            observer.line(now, cache.line as usize, holder);
        }
    }
}
