//! The track of a thread: its steps, and inside them the waits of its operations.

use super::events::Events;
use crate::simulate::StepKind;
use lockyard_sim::CyclePhase;
use lockyard_trace::Kind;

/// Track of a thread.
pub(super) struct ThreadTrack {
    track: usize,
    /// Open steps, innermost last.
    steps: Vec<StepKind>,
    /// A phase other than work, and its start. It has no event until it ends.
    phase: Option<(u64, String)>,
    /// Start of the thread's last wait for a lock.
    wanted: Option<u64>,
}

impl ThreadTrack {
    pub(super) fn new(name: &str, events: &mut Events) -> ThreadTrack {
        let track = events.track(name, Kind::Thread, None);
        ThreadTrack { track, steps: Vec::new(), phase: None, wanted: None }
    }

    /// Returns the start of the wait for the lock that the thread has just taken.
    pub(super) fn wanted(&self) -> Option<u64> {
        self.wanted
    }

    /// Begins a step. Returns the number of its first event.
    pub(super) fn begin(
        &mut self,
        time: u64,
        step: StepKind,
        name: &str,
        events: &mut Events,
    ) -> usize {
        self.end_phase(time, events);
        if let StepKind::Waits(_) = step {
            self.wanted = Some(time);
        }
        self.steps.push(step);
        events.begin(time, self.track, name)
    }

    /// Ends and returns the innermost step.
    pub(super) fn end(&mut self, time: u64, events: &mut Events) -> Option<StepKind> {
        self.end_phase(time, events);
        let step = self.steps.pop()?;
        events.end(time, self.track);
        Some(step)
    }

    /// Records that the thread spends its time on a phase from now on, for a line.
    pub(super) fn spends(
        &mut self,
        time: u64,
        phase: Option<CyclePhase>,
        line: Option<&str>,
        events: &mut Events,
    ) {
        let name = name(phase, line);
        if self.phase.as_ref().map(|(_, name)| name) == name.as_ref() {
            return;
        }
        self.end_phase(time, events);
        self.phase = name.map(|name| (time, name));
    }

    /// Ends the phase. A phase that took no time has no slice.
    fn end_phase(&mut self, time: u64, events: &mut Events) {
        if let Some((since, name)) = self.phase.take().filter(|(since, _)| *since < time) {
            events.begin(since, self.track, &name);
            events.end(time, self.track);
        }
    }

    /// Ends everything that is open.
    pub(super) fn finish(&mut self, time: u64, events: &mut Events) {
        self.end_phase(time, events);
        while self.steps.pop().is_some() {
            events.end(time, self.track);
        }
    }
}

/// Returns the name of a phase for display; `None` while the thread works.
fn name(phase: Option<CyclePhase>, line: Option<&str>) -> Option<String> {
    Some(match (phase?, line) {
        (CyclePhase::Working, _) => return None,
        (CyclePhase::Moving, Some(line)) => format!("line comes: {line}"),
        (CyclePhase::Draining, Some(line)) => format!("stores drain: {line}"),
        (CyclePhase::Waiting, Some(line)) => format!("watches {line}"),
        (CyclePhase::Waiting, None) => "pauses".to_owned(),
        (CyclePhase::OffCpu, _) => "off CPU".to_owned(),
        (phase, None) | (phase @ CyclePhase::Answers, _) => phase.name().to_owned(),
    })
}
