//! Presence of the threads of a run: the share of time that all of them ran.
//!
//! Each thread records its start, its end and its CPU time. If the system reports it, the thread
//! also records how long it was ready but not running, and how often it was preempted.
//!
//! These sums do not say when a thread was absent. So the share of time that *all* threads
//! ran has two bounds, the Bonferroni bound and the trivial one. If the absences never overlapped,
//! the share is 1 minus the sum of all absences. If they overlapped fully, it is the share of the
//! thread that ran least.

use lockyard_results::details::PresenceDetail;
use lockyard_results::statistics::median;
use std::time::{Duration, Instant};

/// Statistics that the system keeps on a thread, up to now.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    /// CPU time.
    ran: Option<Duration>,
    /// Time for which the thread was ready but not running.
    waited: Option<Duration>,
    /// Number of times that the thread was preempted.
    preempted: Option<u64>,
    /// Number of times that the thread slept: voluntary context switches.
    slept: Option<u64>,
}

/// Time stamp of a thread at its start.
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    at: Instant,
    account: Account,
}

/// Presence of a thread during a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stamps {
    /// Time at its first operation.
    pub began: Instant,
    /// Time after its last operation.
    pub ended: Instant,
    ran: Option<Duration>,
    waited: Option<Duration>,
    preempted: Option<u64>,
    slept: Option<u64>,
}

/// Number of times that these threads slept; `None` if the system does not report it.
pub fn slept(threads: &[Stamps]) -> Option<u64> {
    threads.iter().map(|thread| thread.slept).sum()
}

/// Total time that these threads ran; `None` if the system does not report it.
pub fn ran(threads: &[Stamps]) -> Option<Duration> {
    threads.iter().map(|thread| thread.ran).sum()
}

impl Begun {
    /// Takes the time stamp of the calling thread.
    pub fn now() -> Begun {
        let account = account();
        Begun { at: Instant::now(), account }
    }

    /// Completes the time stamp. The calling thread must be the one that started it.
    pub fn ended(self) -> Stamps {
        let ended = Instant::now();
        let now = account();
        let time = |now: Option<Duration>, then: Option<Duration>| now?.checked_sub(then?);
        let more = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        Stamps {
            began: self.at,
            ended,
            ran: time(now.ran, self.account.ran),
            waited: time(now.waited, self.account.waited),
            preempted: more(now.preempted, self.account.preempted),
            slept: more(now.slept, self.account.slept),
        }
    }
}

/// Presence of the threads in one round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Round {
    /// Lower bound of the share of time that all threads ran.
    least: f64,
    /// Upper bound of that share.
    most: f64,
    /// Share of time that a thread was ready but not running: mean over the threads.
    waited: Option<f64>,
    preempted: Option<u64>,
}

impl Round {
    /// Computes the presence of the threads in a round with this window; `None` if the system does
    /// not report how long threads ran.
    pub fn of(threads: &[Stamps], window: (Instant, Instant)) -> Option<Round> {
        let length = (window.1 - window.0).as_secs_f64();
        let began = threads.iter().map(|thread| thread.began).max()?.max(window.0);
        let ended = threads.iter().map(|thread| thread.ended).min()?.min(window.1);
        let together = match ended.checked_duration_since(began) {
            Some(time) if length > 0.0 => time.as_secs_f64() / length,
            _ => 0.0,
        };
        let (mut missed, mut least_of_thread, mut waited) = (0.0, 1.0f64, Some(0.0));
        let mut preempted = Some(0);
        for thread in threads {
            let time = (thread.ended - thread.began).as_secs_f64();
            // The clocks may differ by a tick.
            let share =
                |of: Duration| if time > 0.0 { (of.as_secs_f64() / time).min(1.0) } else { 1.0 };
            let ran = share(thread.ran?);
            missed += 1.0 - ran;
            least_of_thread = least_of_thread.min(ran);
            waited = waited.zip(thread.waited).map(|(sum, of)| sum + share(of));
            preempted = preempted.zip(thread.preempted).map(|(sum, of)| sum + of);
        }
        let most = together.min(least_of_thread);
        Some(Round {
            // Rounding must not make it larger than the upper bound.
            least: (together - missed).max(0.0).min(most),
            most,
            waited: waited.map(|sum| sum / threads.len() as f64),
            preempted,
        })
    }
}

/// Presence of the threads of a cell in all rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Presence {
    /// Lower bound of the share of time that all threads ran: median over the rounds.
    pub all_ran_least: f64,
    /// Upper bound of that share: median over the rounds.
    pub all_ran_most: f64,
    /// Share of time that a thread was ready but not running: mean over threads and rounds.
    /// `None` if the system does not report it.
    pub waited: Option<f64>,
    /// Number of preemptions of threads, summed over all rounds.
    pub preempted: Option<u64>,
}

/// Minimum share of time that all threads run. Below it there is a warning.
const ENOUGH: f64 = 0.9;

/// Minimum share of time that threads are ready but not running, if they count as kept from
/// running.
const KEPT_AWAY: f64 = 0.005;

impl Presence {
    /// Combines the rounds; `None` if no round has a known presence.
    pub fn of(rounds: &[Round]) -> Option<Presence> {
        let of = |value: fn(&Round) -> f64| median(&rounds.iter().map(value).collect::<Vec<f64>>());
        let waited: Option<Vec<f64>> = rounds.iter().map(|round| round.waited).collect();
        Some(Presence {
            all_ran_least: of(|round| round.least)?,
            all_ran_most: of(|round| round.most)?,
            waited: waited.and_then(|waited| lockyard_results::statistics::mean(&waited)),
            preempted: rounds.iter().map(|round| round.preempted).sum(),
        })
    }

    /// Returns the details of a row.
    pub fn detail(&self) -> PresenceDetail {
        PresenceDetail {
            all_threads_ran_least: self.all_ran_least,
            all_threads_ran_most: self.all_ran_most,
            ready_and_not_running: self.waited,
            preemptions: self.preempted,
        }
    }

    /// Returns a warning with its remedy if some of `threads` threads were kept from running: a
    /// sentence without a full stop. Returns `None` if they were not. Threads that sleep because of
    /// their lock do not count as kept from running.
    pub fn warning(&self, threads: usize) -> Option<String> {
        let kept = match (self.waited, self.preempted) {
            (Some(waited), _) => waited > KEPT_AWAY,
            (None, Some(preempted)) => preempted > 0,
            (None, None) => true,
        };
        if self.all_ran_least >= ENOUGH || !kept {
            return None;
        }
        let preempted = match self.preempted {
            Some(1) => " (preempted once)".to_owned(),
            Some(n) => format!(" (preempted {n} times)"),
            None => String::new(),
        };
        let most = self.all_ran_most * 100.0;
        let ran = match threads {
            1 => format!("the thread ran for only {most:.0} % of the time"),
            _ => format!(
                "all threads ran at the same time for only {:.0} to {most:.0} % of the time",
                self.all_ran_least * 100.0
            ),
        };
        Some(format!(
            "{ran}{preempted}: something else used the CPU{}; \
             stop other programs, or leave them a CPU (fewer --threads, or --placement), \
             and measure again",
            if threads == 1 { "" } else { "s" }
        ))
    }
}

#[cfg(target_os = "linux")]
fn account() -> Account {
    // SAFETY: an all-zero `timespec` is valid.
    let mut time: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: `time` is a live `timespec`.
    let told = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) } == 0;
    let ran = told.then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32));
    // SAFETY: an all-zero `rusage` is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is a live `rusage`.
    let told = unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) } == 0;
    let preempted = told.then_some(usage.ru_nivcsw as u64);
    let slept = told.then_some(usage.ru_nvcsw as u64);
    // Nanoseconds on a CPU, nanoseconds spent ready and waiting for one, and number of times
    // scheduled.
    let schedule = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let waited = schedule.and_then(|text| text.split(' ').nth(1)?.trim().parse().ok());
    Account { ran, waited: waited.map(Duration::from_nanos), preempted, slept }
}

#[cfg(not(target_os = "linux"))]
fn account() -> Account {
    Account::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamps(base: Instant, (began, ended): (u64, u64), ran: u64, waited: u64) -> Stamps {
        Stamps {
            began: base + Duration::from_millis(began),
            ended: base + Duration::from_millis(ended),
            ran: Some(Duration::from_millis(ran)),
            waited: Some(Duration::from_millis(waited)),
            preempted: Some(u64::from(waited > 0)),
            slept: Some(0),
        }
    }

    fn window(base: Instant, from: u64, to: u64) -> (Instant, Instant) {
        (base + Duration::from_millis(from), base + Duration::from_millis(to))
    }

    #[test]
    fn threads_that_always_ran_all_ran_all_the_time() {
        let base = Instant::now();
        let thread = stamps(base, (0, 120), 120, 0);
        let round = Round::of(&[thread; 3], window(base, 20, 120)).unwrap();
        assert_eq!((round.least, round.most), (1.0, 1.0));
        let presence = Presence::of(&[round]).unwrap();
        assert_eq!((presence.warning(3), presence.preempted), (None, Some(0)));
    }

    #[test]
    fn shares_of_time_bound_the_share_in_which_all_ran() {
        let base = Instant::now();
        // The threads are absent for 20 and for 10 of 100. If the absences overlap, all threads ran
        // for 80; if not, for 70.
        let threads = [stamps(base, (0, 100), 80, 20), stamps(base, (0, 100), 90, 10)];
        let round = Round::of(&threads, window(base, 0, 100)).unwrap();
        assert!((round.least - 0.7).abs() < 1e-9 && (round.most - 0.8).abs() < 1e-9, "{round:?}");
        assert!((round.waited.unwrap() - 0.15).abs() < 1e-9);
        let warning = Presence::of(&[round]).unwrap().warning(2).unwrap();
        assert!(
            warning.contains("for only 70 to 80 % of the time (preempted 2 times)"),
            "{warning}"
        );
    }

    #[test]
    fn a_thread_that_began_late_was_not_there() {
        let base = Instant::now();
        let threads = [stamps(base, (0, 100), 100, 0), stamps(base, (60, 100), 40, 0)];
        let round = Round::of(&threads, window(base, 20, 100)).unwrap();
        assert_eq!((round.least, round.most), (0.5, 0.5));
        let never = [stamps(base, (0, 50), 50, 0), stamps(base, (60, 100), 40, 0)];
        assert_eq!(Round::of(&never, window(base, 0, 100)).unwrap().most, 0.0);
    }

    #[test]
    fn threads_that_sleep_of_their_own_accord_are_no_cause_for_a_warning() {
        let base = Instant::now();
        let threads = [stamps(base, (0, 100), 50, 0); 2];
        let round = Round::of(&threads, window(base, 0, 100)).unwrap();
        assert_eq!((round.least, round.most), (0.0, 0.5));
        assert_eq!(Presence::of(&[round]).unwrap().warning(2), None);
    }

    #[test]
    fn where_the_system_says_nothing_nothing_is_said() {
        let base = Instant::now();
        let thread = Stamps { ran: None, ..stamps(base, (0, 100), 50, 0) };
        assert_eq!(Round::of(&[thread], window(base, 0, 100)), None);
        assert_eq!(Presence::of(&[]), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_that_computes_runs_and_one_that_sleeps_does_not() {
        // The test puts no bound on the speed. CPU time cannot pass without work, and work cannot
        // be done without CPU time.
        let begun = Begun::now();
        let mut x = 1u64;
        while begun.ended().ran.unwrap() < Duration::from_millis(5) {
            x = std::hint::black_box(x.wrapping_mul(3));
        }
        let worked = begun.ended();
        assert!(worked.ran.unwrap() >= Duration::from_millis(5) && worked.ended > worked.began);
        let asleep = Begun::now();
        std::thread::sleep(Duration::from_millis(30));
        let slept = asleep.ended();
        assert!(slept.ran.unwrap() < slept.ended - slept.began);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_that_sleeps_17_times_is_counted_17() {
        let begun = Begun::now();
        (0..17).for_each(|_| std::thread::sleep(Duration::from_micros(200)));
        let stamps = begun.ended();
        // Nothing else in between lets the thread sleep, but a page could come from a disk.
        let slept = slept(&[stamps]).expect("Linux counts it");
        assert!((17..20).contains(&slept), "{slept}");
        let idle = Begun::now().ended();
        assert_eq!(super::slept(&[idle, idle]), Some(2 * idle.slept.unwrap()));
        assert_eq!(super::slept(&[stamps, Stamps { slept: None, ..stamps }]), None);
    }
}
