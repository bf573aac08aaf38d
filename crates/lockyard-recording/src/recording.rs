//! Content of a recording. All times are in nanoseconds.

use serde::{Deserialize, Serialize};

/// A recording of a process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// Facts about the program, its locks and the host.
    pub about: About,
    /// Runs of events. Those of one thread are in the order of time.
    pub windows: Vec<Window>,
}

/// Facts about a recording: the second line of its file, as JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// Name and version of the program that wrote the file.
    pub writer: String,
    /// Words of the recorded command.
    pub command: Vec<String>,
    /// Duration of the run in seconds.
    pub seconds: f64,
    /// Number of CPUs of the host that the program could use.
    pub cpus: usize,
    /// Locks. An event names a lock by its place in this list.
    pub locks: Vec<LockAbout>,
    /// Call sites. An event names a site by its place in this list.
    pub sites: Vec<String>,
    /// Threads that took locks, with what they did in the whole run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<ThreadAbout>,
    /// Where threads wait for each other without a lock. An event names one by its place here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub meetings: Vec<MeetingAbout>,
    /// Waits in user space, which no lock has, the most frequent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub user_waits: Vec<UserWait>,
    /// Costs of the recording.
    #[serde(default)]
    pub costs: Costs,
    /// CPU time that the program's threads had, and that they waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_time: Option<CpuTime>,
    /// Number of times that the program's threads left their CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switches: Option<Switches>,
    /// Machine file of the host, measured when the recording was made.
    #[serde(default)]
    pub host: Option<String>,
    /// Reason for which there is no machine file.
    #[serde(default)]
    pub no_host: Option<String>,
    /// Notes of the writer, one line each.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// CPU time of a program's threads, all together, in seconds. The system counts both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuTime {
    /// Time on a CPU.
    pub ran: f64,
    /// Time in which a thread could run, and had no CPU.
    pub waited: f64,
}

/// Number of times that a program's threads left their CPUs, all together. The system counts both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switches {
    /// A thread slept.
    pub voluntary: u64,
    /// A thread could have gone on, and another one had its CPU.
    pub involuntary: u64,
}

impl CpuTime {
    /// Returns true if both times are times.
    pub fn is_valid(self) -> bool {
        [self.ran, self.waited].into_iter().all(|time| time.is_finite() && time >= 0.0)
    }
}

/// Facts about a lock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockAbout {
    /// Name for readers.
    pub name: String,
    /// Kind of the lock.
    pub kind: Kind,
    /// Number of its cache line. Locks with the same number begin in the same line.
    pub line: u64,
    /// Number of acquisitions in the whole run, in windows and between them; 0 if it is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub acquired: u64,
    /// Number of these that were shared with others: reads.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shared: u64,
}

/// Facts about a condition, a semaphore or a barrier.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeetingAbout {
    /// Name for readers.
    pub name: String,
    /// Kind.
    pub kind: MeetingKind,
    /// Number of signals in the whole run, with those to all; or of units given to a semaphore.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub signals: u64,
    /// Number of broadcasts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub broadcasts: u64,
    /// Number of units taken from a semaphore, or of passes of a barrier, in the whole run.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub passes: u64,
    /// Number of waits for a condition in the whole run.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waits: u64,
    /// Number of these whose time was over.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub timeouts: u64,
}

/// Kind of a place where threads wait for each other without a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MeetingKind {
    /// A condition. Its waits are acquisitions of its mutex.
    #[default]
    Condition,
    /// A semaphore.
    Semaphore,
    /// A barrier.
    Barrier,
}

/// Waits in user space at a site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserWait {
    /// The call site.
    pub site: u32,
    /// Number of calls that give the CPU up (`sched_yield`) in the whole run.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub yields: u64,
    /// Number of calls that sleep for a time (`nanosleep`, `usleep`).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub naps: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Facts about a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThreadAbout {
    /// Number of the thread, as in its windows.
    pub number: u32,
    /// Number of acquisitions in the whole run, in windows and between them.
    pub acquired: u64,
    /// Its use of CPUs, if that was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<ThreadUse>,
}

/// Use of CPUs by a thread, from its first lock to the latest time at which the thread read it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThreadUse {
    /// Number of acquisitions until then.
    pub acquired: u64,
    /// Duration.
    pub lived_ns: u64,
    /// Time on a CPU.
    pub cpu_ns: u64,
    /// Time in which it could run, and had no CPU, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_ns: Option<u64>,
    /// Number of times that it left its CPU.
    pub switches: Switches,
}

/// Kind of a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A mutex whose waiters sleep.
    #[default]
    Mutex,
    /// A spinlock.
    Spin,
    /// A reader-writer lock.
    RwLock,
}

/// Costs of the recording, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// Time from the event of an acquisition to the event of its release, with nothing between.
    pub hold: f64,
    /// Time from the event of a release to that of the next acquisition of the same free lock, with
    /// nothing between. It contains the plain calls.
    pub think: f64,
    /// Cost of an acquisition and a release outside of the windows, beyond the plain calls.
    pub counted: f64,
    /// Cost of a plain acquisition and release.
    pub plain: f64,
    /// Time from a wake-up until the thread that slept runs on an idle CPU; 0 if it is not known.
    #[serde(default)]
    pub wakeup: f64,
    /// Time of a call that would park a thread, but finds the lock changed.
    #[serde(default)]
    pub park: f64,
    /// Time of a call that wakes nobody.
    #[serde(default)]
    pub wake_nobody: f64,
    /// Time of a call that wakes a thread, for the caller.
    #[serde(default)]
    pub wake: f64,
}

impl Costs {
    /// Upper bound of each cost, in nanoseconds.
    pub const BOUND: f64 = 1e6;

    /// Returns true if each cost is in the range that a recording may have.
    pub fn are_in_range(self) -> bool {
        self.each().into_iter().all(is_cost)
    }

    /// Returns the costs with 0, for "not known", in place of each that is out of range. On a busy
    /// host a wake-up can take longer than [`BOUND`](Self::BOUND).
    #[must_use]
    pub fn in_range(self) -> Self {
        let known = |cost| if is_cost(cost) { cost } else { 0.0 };
        let [hold, think, counted, plain, wakeup, park, wake_nobody, wake] = self.each().map(known);
        Costs { hold, think, counted, plain, wakeup, park, wake_nobody, wake }
    }

    fn each(self) -> [f64; 8] {
        let Costs { hold, think, counted, plain, wakeup, park, wake_nobody, wake } = self;
        [hold, think, counted, plain, wakeup, park, wake_nobody, wake]
    }
}

fn is_cost(cost: f64) -> bool {
    (0.0..Costs::BOUND).contains(&cost)
}

/// Consecutive events of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Number of the thread.
    pub thread: u32,
    /// Time of the beginning, since the beginning of the recording.
    pub begin: u64,
    /// Number of acquisitions of the thread before the window.
    pub acquisitions: u64,
    /// True if the thread did nothing between its window before and this one.
    pub continues: bool,
    /// The events.
    pub events: Vec<Event>,
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A lock is acquired.
    Acquired {
        /// Time since the event before, or since the beginning of the window. It contains the wait.
        after: u64,
        /// The lock.
        lock: u32,
        /// The call site.
        site: u32,
        /// Manner of the acquisition.
        how: How,
        /// Time for which the call waited.
        wait: u64,
    },
    /// A lock is released.
    Released {
        /// Time since the event before.
        after: u64,
        /// The lock.
        lock: u32,
    },
    /// Threads wait for each other, or one wakes others, without a lock.
    Met {
        /// Time since the event before. It contains the wait.
        after: u64,
        /// The condition, semaphore or barrier.
        meeting: u32,
        /// The call site.
        site: u32,
        /// What the thread does.
        what: Met,
        /// Duration of the call, if it may wait; 0 for a signal.
        wait: u64,
    },
    /// The thread had no CPU for some of the time between the events before and after this one.
    OffCpu {
        /// Duration.
        time: u64,
        /// True if the thread slept, false if another thread had its CPU.
        slept: bool,
    },
    /// The recorder needed time between the events before and after this one. The next event's
    /// `after` does not contain it.
    Recorder {
        /// Duration.
        time: u64,
    },
}

/// What a thread does with a condition, a semaphore or a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Met {
    /// Signals a condition.
    Signals,
    /// Signals a condition to all who wait for it.
    Broadcasts,
    /// Begins to wait for a condition. Its mutex is released, and the acquisition that ends the
    /// wait comes next.
    Waits,
    /// Takes a unit of a semaphore. This many are left.
    Takes {
        /// Value of the semaphore after it.
        left: u64,
    },
    /// Gives a unit to a semaphore.
    Gives,
    /// Passes a barrier.
    Passes {
        /// True for one thread of each round.
        serial: bool,
    },
}

/// Manner of an acquisition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// By a call that waits.
    Waits,
    /// By a call that does not wait, and not shared.
    Tries,
    /// Shared with others, by a call that waits or does not.
    Reads,
    /// At the end of a wait for a condition, which is the event's `wait`.
    Condition,
}

impl Window {
    /// Returns the time from the beginning of the window to its last event.
    pub fn duration(&self) -> u64 {
        let each = self.events.iter().map(|event| match *event {
            Event::Acquired { after, .. }
            | Event::Released { after, .. }
            | Event::Met { after, .. } => after,
            Event::Recorder { time } => time,
            Event::OffCpu { .. } => 0,
        });
        each.fold(0, u64::saturating_add)
    }

    /// Returns the time of the last event, since the beginning of the recording.
    pub fn end(&self) -> u64 {
        self.begin.saturating_add(self.duration())
    }

    /// Returns the number of acquisitions of the thread before the end of the window.
    pub fn acquisitions_at_end(&self) -> u64 {
        self.acquisitions.saturating_add(self.acquired())
    }

    /// Returns the number of acquisitions in the window.
    pub fn acquired(&self) -> u64 {
        self.events.iter().filter(|event| matches!(event, Event::Acquired { .. })).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::Costs;

    #[test]
    fn a_cost_out_of_range_is_not_known() {
        let costs = Costs { hold: 20.0, wakeup: 1_178_215.0, park: f64::NAN, ..Costs::default() };
        assert!(!costs.are_in_range());
        assert_eq!(costs.in_range(), Costs { hold: 20.0, ..Costs::default() });
        assert!(costs.in_range().are_in_range());
    }
}
