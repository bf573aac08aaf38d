//! Events in a process's records become a recording.

use lockyard_profile::modules::Modules;
use lockyard_profile::process::{Lock, Process};
use lockyard_profile::records::Records;
use lockyard_profile::symbols::{Site, Symbols};
use lockyard_recording::recording::{
    About, Event, How, Kind, LockAbout, MeetingAbout, MeetingKind, Met, Recording, UserWait, Window,
};
use lockyard_records::{Event as Raw, Kind as RawKind, Window as RawWindow, event};
use lockyard_support::{count, printable};
use std::collections::HashMap;

/// Size of a cache line in bytes.
const LINE: u64 = 64;

/// Returns the recording of a process. `about` has the facts that the records do not have.
pub(super) fn recording(records: &Records, about: About, ticks_per_ns: f64) -> Recording {
    let mut symbols = Symbols::default();
    let process = Process::of(records, &mut symbols);
    let mut names = Names {
        modules: Modules::of(&records.maps),
        symbols,
        locks: HashMap::new(),
        sites: HashMap::new(),
        meetings: HashMap::new(),
        about,
    };
    let found: HashMap<u64, &Lock> =
        process.locks.iter().map(|lock| (lock.address, lock)).collect();
    let mut raw: Vec<&RawWindow> = records.windows.iter().filter(|one| one.count > 0).collect();
    // The list has the latest first, and a thread's own windows in the order of time.
    raw.reverse();
    let mut ends: HashMap<u32, (u64, u32)> = HashMap::new();
    let mut windows = Vec::new();
    let mut backwards = 0u64;
    let ns = |ticks: u64| (ticks as f64 / ticks_per_ns).round() as u64;
    for window in raw {
        let mut converter = Converter { ns: &ns, last: window.begin, own: 0, backwards: 0 };
        let mut events = Vec::with_capacity(window.count as usize);
        let (before, burst) = ends.get(&window.thread).copied().unwrap_or_default();
        if window.begin < before {
            backwards += 1;
        }
        let continues = window.continues != 0 && burst == window.burst && before > 0;
        if continues {
            converter.last = before;
        }
        for raw in window.events.iter().take(window.count as usize) {
            converter.add(raw, &mut events, |address, site| match site & event::MASK {
                kind if kind < event::SIGNALLED => {
                    (names.lock(records, &found, address), names.site(site & !event::MASK))
                }
                kind => (names.meeting(address, kind), names.site(site & !event::MASK)),
            });
        }
        backwards += converter.backwards;
        ends.insert(window.thread, (converter.last.saturating_add(converter.own), window.burst));
        let begin = if continues { before } else { window.begin.max(before) };
        let begin = ns(begin.saturating_sub(records.header.start));
        let acquisitions = window.acquisitions;
        windows.push(Window { thread: window.thread, begin, acquisitions, continues, events });
    }
    names.count(records);
    let mut recording = Recording { about: names.about, windows };
    if backwards > 0 {
        let times = count(backwards as usize, "time");
        let note = format!("the clock went back {times}; an interval in which it did counts as 0");
        recording.about.notes.push(note);
    }
    if records.header.lost_windows > 0 {
        let lost = records.header.lost_windows;
        let windows = count(lost as usize, "window");
        recording.about.notes.push(format!("{windows} of events had no room"));
    }
    straighten(&mut recording);
    recording
}

/// Makes beginnings and counts of each thread's windows go forward. Rounding may have moved them by
/// a nanosecond; the count of a window that continues another one may lack an acquisition whose
/// event comes next.
fn straighten(recording: &mut Recording) {
    let mut ends: HashMap<u32, (u64, u64)> = HashMap::new();
    for window in &mut recording.windows {
        let (end, acquisitions) = ends.get(&window.thread).copied().unwrap_or_default();
        window.begin = window.begin.max(end);
        window.acquisitions = window.acquisitions.max(acquisitions);
        ends.insert(window.thread, (window.end(), window.acquisitions_at_end()));
    }
}

/// Converter of a window's events.
struct Converter<'n> {
    ns: &'n dyn Fn(u64) -> u64,
    /// Time of the event before.
    last: u64,
    /// The recorder's own time after it.
    own: u64,
    backwards: u64,
}

impl Converter<'_> {
    fn add(
        &mut self,
        raw: &Raw,
        into: &mut Vec<Event>,
        mut names: impl FnMut(u64, u64) -> (u32, u32),
    ) {
        let kind = raw.site & event::MASK;
        if kind == event::OFF_CPU {
            into.push(Event::OffCpu { time: raw.lock, slept: raw.wait != 0 });
            return;
        }
        if self.own > 0 {
            into.push(Event::Recorder { time: (self.ns)(self.own) });
        }
        self.backwards += u64::from(raw.ticks < self.last);
        let passed = raw.ticks.saturating_sub(self.last).saturating_sub(self.own);
        (self.last, self.own) = (self.last.max(raw.ticks), u64::from(raw.own));
        let after = (self.ns)(passed);
        let (lock, site) = names(raw.lock, raw.site);
        let wait = (self.ns)(u64::from(raw.wait)).min(after);
        let what = match kind {
            event::SIGNALLED => Some(Met::Signals),
            event::BROADCAST => Some(Met::Broadcasts),
            event::WAITING => Some(Met::Waits),
            event::TAKEN => Some(Met::Takes { left: raw.lock >> event::VALUE }),
            event::GIVEN => Some(Met::Gives),
            event::MET => Some(Met::Passes { serial: raw.lock & 1 != 0 }),
            _ => None,
        };
        if let Some(what) = what {
            into.push(Event::Met { after, meeting: lock, site, what, wait });
            return;
        }
        let how = match kind {
            event::RELEASED => {
                into.push(Event::Released { after, lock });
                return;
            }
            event::TRIED => How::Tries,
            event::READ => How::Reads,
            event::CONDITION => How::Condition,
            _ => How::Waits,
        };
        into.push(Event::Acquired { after, lock, site, how, wait });
    }
}

/// Names of locks and sites, in the order of their first events.
struct Names {
    modules: Modules,
    symbols: Symbols,
    locks: HashMap<u64, u32>,
    sites: HashMap<u64, u32>,
    meetings: HashMap<u64, u32>,
    about: About,
}

/// Maximum number of places of waits in user space.
const MOST_USER_WAITS: usize = 20;

impl Names {
    fn lock(&mut self, records: &Records, found: &HashMap<u64, &Lock>, address: u64) -> u32 {
        if let Some(known) = self.locks.get(&address) {
            return *known;
        }
        let index = self.about.locks.len() as u32;
        self.locks.insert(address, index);
        let found = found.get(&address);
        let variable = found.and_then(|lock| lock.variable.name.clone());
        let name = variable.unwrap_or_else(|| {
            let site = found.and_then(|lock| lock.sites.first());
            let site = site.map(|site| site.site.text());
            site.map_or_else(|| format!("{address:#x}"), |site| format!("{address:#x} of {site}"))
        });
        let counts = found.map(|lock| &lock.counts);
        let shared = counts.map_or(0, |counts| counts.reads);
        let kind = match records.locks.get(&address).map(|lock| lock.kind) {
            Some(kind) if kind == RawKind::Spin as u16 => Kind::Spin,
            Some(kind) if kind == RawKind::ReadWrite as u16 => Kind::RwLock,
            // A lock that the program records itself says its mode only.
            _ if shared > 0 => Kind::RwLock,
            _ => Kind::Mutex,
        };
        let name = printable(&name).to_string();
        // A wait for a condition ends with an acquisition.
        let acquired =
            counts.map_or(0, |counts| counts.acquisitions.saturating_add(counts.condition_waits));
        self.about.locks.push(LockAbout { name, kind, line: address / LINE, acquired, shared });
        index
    }

    /// Returns the place of a condition, a semaphore or a barrier. An event has more bits than its
    /// address.
    fn meeting(&mut self, shown: u64, kind: u64) -> u32 {
        let address = shown & ((1 << event::VALUE) - 1) & !1;
        if let Some(known) = self.meetings.get(&address) {
            return *known;
        }
        let index = self.about.meetings.len() as u32;
        self.meetings.insert(address, index);
        let kind = match kind {
            event::TAKEN | event::GIVEN => MeetingKind::Semaphore,
            event::MET => MeetingKind::Barrier,
            _ => MeetingKind::Condition,
        };
        let variable = self.symbols.variable(&self.modules, address).name;
        let name = variable.unwrap_or_else(|| format!("{address:#x}"));
        let name = printable(&name).to_string();
        self.about.meetings.push(MeetingAbout { name, kind, ..MeetingAbout::default() });
        index
    }

    /// Counts what is no lock in the whole run.
    fn count(&mut self, records: &Records) {
        let kind = |lock: u64| records.locks.get(&lock).map(|of| of.kind);
        let is_other = |lock: u64| kind(lock) == Some(RawKind::Other as u16);
        let mut waits: HashMap<u64, UserWait> = HashMap::new();
        for events in &records.events {
            let count = events.count;
            match events.kind {
                event::YIELDED => waits.entry(events.site).or_default().yields += count,
                event::NAPPED => waits.entry(events.site).or_default().naps += count,
                event::FAILED if is_other(events.lock) => {
                    let meeting = self.meeting(events.lock, event::WAITING) as usize;
                    self.about.meetings[meeting].timeouts += count;
                }
                kind if kind >= event::SIGNALLED => {
                    let meeting = self.meeting(events.lock, kind) as usize;
                    let about = &mut self.about.meetings[meeting];
                    match kind {
                        event::TAKEN | event::MET => about.passes += count,
                        event::WAITING => about.waits += count,
                        _ => about.signals += count,
                    }
                    about.broadcasts += if kind == event::BROADCAST { count } else { 0 };
                }
                _ => {}
            }
        }
        let mut waits: Vec<(u64, UserWait)> = waits.into_iter().collect();
        waits.sort_by_key(|(site, wait)| (std::cmp::Reverse(wait.yields + wait.naps), *site));
        for (site, wait) in waits.into_iter().take(MOST_USER_WAITS) {
            let site = self.site(site);
            self.about.user_waits.push(UserWait { site, ..wait });
        }
    }

    fn site(&mut self, address: u64) -> u32 {
        // A release has no site.
        if address == 0 {
            return 0;
        }
        if let Some(known) = self.sites.get(&address) {
            return *known;
        }
        let index = self.about.sites.len() as u32;
        self.sites.insert(address, index);
        let site: Site = self.symbols.site(&self.modules, address);
        self.about.sites.push(printable(&site.text()).to_string());
        index
    }
}
