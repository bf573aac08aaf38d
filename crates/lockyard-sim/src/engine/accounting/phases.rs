//! Changes of phase: what each thread spends its cycles on, and how operations change the counts of
//! lines.

use super::attribution::CycleAttribution;
use super::distance::LineDistance;
use super::ledger::{EntryName, Ledger};
use super::phase::CyclePhase;
use super::spending::{Missed, Spending};
use crate::engine::activity::Activity;
use crate::engine::state::Engine;
use crate::engine::thread::Thread;
use crate::op::Op;
use lockyard::platform::Activity as Doing;

impl Thread {
    /// Adds the cycles that the thread has spent so far. From `now` on, it spends cycles on
    /// `phase`, for `line`. Returns the load that missed, if it is complete now.
    #[inline(always)]
    fn change_phase(
        &mut self,
        now: u64,
        phase: Option<CyclePhase>,
        line: Option<u32>,
        ledger: &mut Ledger,
    ) -> Option<Missed> {
        let spending = &mut self.spending;
        let before = std::mem::replace(&mut spending.phase, phase);
        let cycles = now - std::mem::replace(&mut spending.since, now);
        let on = std::mem::replace(&mut spending.line, line);
        if let Some(before) = before {
            self.spent[before as usize] += cycles;
            let stalls = matches!(before, CyclePhase::Moving | CyclePhase::Draining);
            self.waited += if stalls { cycles } else { 0 };
            if let Some(line) = on {
                ledger.spend(line, before as usize, self.doing, cycles);
            }
        }
        let works = phase == Some(CyclePhase::Working);
        if works { spending.missed.take() } else { None }
    }
}

impl Engine {
    /// Makes the thread work from now on. Most threads work most of the time.
    #[inline(always)]
    pub(crate) fn start_working(&mut self, thread: u32) {
        let Thread { spending, activity, .. } = &self.threads[thread as usize];
        let works = spending.phase == Some(CyclePhase::Working);
        debug_assert_eq!(
            works,
            *activity == Activity::Running,
            "a working thread competes for the core"
        );
        debug_assert!(!works || spending.missed.is_none(), "a load that missed waits");
        if !works {
            self.change_activity(thread, Activity::Running, CyclePhase::Working, None);
        }
    }

    /// Makes the thread leave its core to its siblings from now on. Its cycles are spent on
    /// `phase`, for `line`.
    #[inline(always)]
    pub(crate) fn start_waiting(&mut self, thread: u32, phase: CyclePhase, line: Option<u32>) {
        self.change_activity(thread, Activity::Yielding, phase, line);
    }

    /// Changes the thread's activity, as seen by its siblings and by the account of its cycles.
    #[inline(never)]
    fn change_activity(
        &mut self,
        thread: u32,
        activity: Activity,
        phase: CyclePhase,
        line: Option<u32>,
    ) {
        if self.observer.is_some() {
            self.tell_phase(thread, Some(phase), line);
        }
        let now = self.now();
        let entry = &mut self.threads[thread as usize];
        let before = std::mem::replace(&mut entry.activity, activity);
        let core = entry.core;
        let paces = self.cores[core as usize].update_running(before, activity) & self.siblings_slow;
        let arrived = entry.change_phase(now, Some(phase), line, &mut self.ledger);
        // (Each call is the last action, so nothing has to be kept across it.)
        if let Some(Missed { line, unit }) = arrived {
            self.change_activity_as_data_arrives(thread, line, unit, paces);
        } else if paces {
            self.pace_siblings(thread, core);
        }
    }

    #[inline(never)]
    fn change_activity_as_data_arrives(&mut self, thread: u32, line: u32, unit: u32, paces: bool) {
        self.count_arrival(thread, line, unit as usize);
        if paces {
            self.pace_siblings(thread, self.threads[thread as usize].core);
        }
    }

    /// Changes the region or part that the thread's code is in.
    #[inline(never)]
    pub(crate) fn start_doing(&mut self, thread: u32, doing: Doing) {
        self.charge_until_now(thread);
        self.threads[thread as usize].doing = doing;
    }

    /// Charges all cycles that the thread has spent so far to its region.
    fn charge_until_now(&mut self, thread: u32) {
        let Spending { phase, line, .. } = self.threads[thread as usize].spending;
        self.change_phase(thread, phase, line);
        if phase.is_some() {
            self.charge_region(thread);
        }
    }

    /// Charges the thread's spent cycles to its region.
    fn charge_region(&mut self, thread: u32) {
        let entry = &mut self.threads[thread as usize];
        self.ledger.charge(entry.doing, &mut entry.spent);
    }

    /// Makes the thread spend its cycles on `phase`, for `line`, from now on.
    pub(crate) fn change_phase(
        &mut self,
        thread: u32,
        phase: Option<CyclePhase>,
        line: Option<u32>,
    ) {
        if self.observer.is_some() {
            self.tell_phase(thread, phase, line);
        }
        let now = self.now();
        let arrived =
            self.threads[thread as usize].change_phase(now, phase, line, &mut self.ledger);
        if phase.is_none() {
            self.charge_region(thread);
        }
        if let Some(Missed { line, unit }) = arrived {
            self.count_arrival(thread, line, unit as usize);
        }
    }

    /// Makes the thread's pending operation wait for `line`. Polls after the first count as
    /// waiting.
    pub(crate) fn wait_for_line(&mut self, thread: u32, line: u32) {
        let polls =
            matches!(self.threads[thread as usize].pending(), Some(Op::Load { poll: true, .. }));
        let phase = if polls { CyclePhase::Waiting } else { CyclePhase::Moving };
        self.start_waiting(thread, phase, Some(line));
    }

    /// Makes the thread's operation wait until its store buffer is empty.
    pub(crate) fn wait_for_stores(&mut self, thread: u32) {
        let oldest = self.threads[thread as usize].stores.front().map(|store| store.address);
        let line = oldest.map(|address| self.line_index(address));
        self.start_waiting(thread, CyclePhase::Draining, line);
    }

    #[inline(always)]
    fn unit(&self, address: usize) -> usize {
        self.places.unit(address - self.arena.base())
    }

    /// Distance from the thread to the last exclusive owner of the line; `None` if both are the
    /// same thread.
    #[inline(always)]
    fn distance_from_last(&self, thread: u32, line: u32) -> Option<LineDistance> {
        let core = |thread: u32| self.threads[thread as usize].core;
        let last = self.ledger.last_other(line, thread)?;
        Some(self.places.distance(core(thread), core(last)))
    }

    /// Counts a read-modify-write or a store of `thread` at `address`.
    #[inline(always)]
    pub(crate) fn count_touch(&mut self, thread: u32, line: u32, address: usize) {
        let unit = self.unit(address);
        let distance = self.distance_from_last(thread, line);
        self.ledger.touch(line, thread, unit, distance);
    }

    /// Counts a load of `thread` at `address` that hits.
    pub(crate) fn count_hit(&mut self, thread: u32, line: u32, address: usize) {
        if self.threads[thread as usize].spending.missed.is_none() {
            let unit = self.unit(address);
            self.ledger.hit(line, thread, unit);
        }
    }

    /// Records a load of `thread` at `address` that missed. The thread that last moved the line is
    /// determined when the load completes, because threads that asked earlier may get the line
    /// before that.
    pub(crate) fn note_miss(&mut self, thread: u32, line: u32, address: usize, poll: bool) {
        let unit = self.unit(address) as u32;
        self.threads[thread as usize].spending.missed = Some(Missed { line, unit });
        self.ledger.missed_poll(line, poll);
    }

    /// Counts the load that missed. Called when its data arrives.
    #[inline(never)]
    fn count_arrival(&mut self, thread: u32, line: u32, unit: usize) {
        let distance = self.distance_from_last(thread, line);
        self.ledger.arrival(line, thread, unit, distance);
    }

    /// Forgets the cycles and the counts of lines so far.
    pub(crate) fn begin_attribution(&mut self) {
        self.charge_all();
        self.ledger.begin_attribution();
    }

    fn charge_all(&mut self) {
        for thread in 0..self.threads.len() as u32 {
            self.charge_until_now(thread);
        }
    }

    /// Returns the account of the run's cycles so far.
    pub(crate) fn attribution(&mut self) -> CycleAttribution {
        self.charge_all();
        let numbers = self.directory.numbers();
        let name = |number: usize| match self.shared.contents_of_line(number) {
            Some(name) => EntryName::Gathered(number, name),
            None => EntryName::Own(self.shared.name_of_line(number)),
        };
        self.ledger.attribution(numbers.into_iter().map(name))
    }
}
