//! The file of a recording.
//!
//! ```text
//! lockyard-recording 1\n
//! {"writer": ..., "locks": [...], ...}\n       About, as JSON
//! window ...                                    each: its number of events plus one, thread,
//!                                               begin, acquisitions, 1 if it continues; events
//! 0, number of all events                       the end
//! ```
//!
//! After the two lines, everything is numbers in LEB128: seven bits a byte, the lowest first, and
//! the highest bit set in all bytes but the last. An event begins with `site * 8 + kind`:
//!
//! | kind | event | numbers after it |
//! | --- | --- | --- |
//! | 0 | released | lock, after |
//! | 1 to 4 | acquired: waits, tries, reads, condition | lock, after, wait |
//! | 5, 6 | off CPU: slept, or not | time |
//! | 7 | recorder, if the rest of the first number is 0 | time |
//! | 7 | otherwise that is 1 more than `site * 8 + what` | meeting, after, wait, left if it takes |

use crate::recording::{About, Event, How, Met, Recording, Window};
use lockyard_support::{InputError, escaped, printable, read_file};
use std::collections::HashMap;
use std::path::Path;

/// Version of the format.
pub const VERSION: u32 = 1;

/// Beginning of the first line.
const NAME: &str = lockyard_support::RECORDING;

/// Maximum size of a file in bytes.
pub const MOST_BYTES: u64 = 1 << 30;

/// Maximum number of locks and of sites.
const MOST_NAMES: usize = 1 << 20;

/// Largest time, and largest end of a window: 146 years in nanoseconds.
const MOST_TIME: u64 = 1 << 62;

/// Returns true if these bytes are the beginning of a recording of any version.
pub fn is_recording(bytes: &[u8]) -> bool {
    bytes.starts_with(NAME.as_bytes())
}

/// Returns the bytes of a recording's file.
pub fn write(recording: &Recording) -> Vec<u8> {
    let mut bytes = format!("{NAME}{VERSION}\n").into_bytes();
    // Numbers, texts and lists cannot fail.
    bytes.extend(serde_json::to_vec(&recording.about).unwrap_or_default());
    bytes.push(b'\n');
    let mut all = 0;
    for window in &recording.windows {
        all += window.events.len() as u64;
        for number in [
            window.events.len() as u64 + 1,
            u64::from(window.thread),
            window.begin,
            window.acquisitions,
            u64::from(window.continues),
        ] {
            push(&mut bytes, number);
        }
        for event in &window.events {
            push_event(&mut bytes, event);
        }
    }
    push(&mut bytes, 0);
    push(&mut bytes, all);
    bytes
}

fn push_event(bytes: &mut Vec<u8>, event: &Event) {
    match *event {
        Event::Released { after, lock } => {
            [0, u64::from(lock), after].into_iter().for_each(|number| push(bytes, number));
        }
        Event::Acquired { after, lock, site, how, wait } => {
            let kind = match how {
                How::Waits => 1,
                How::Tries => 2,
                How::Reads => 3,
                How::Condition => 4,
            };
            let numbers = [u64::from(site) * 8 + kind, u64::from(lock), after, wait];
            numbers.into_iter().for_each(|number| push(bytes, number));
        }
        Event::OffCpu { time, slept } => {
            [if slept { 5 } else { 6 }, time].into_iter().for_each(|number| push(bytes, number));
        }
        Event::Met { after, meeting, site, what, wait } => {
            let (what, left) = match what {
                Met::Signals => (0, None),
                Met::Broadcasts => (1, None),
                Met::Waits => (2, None),
                Met::Takes { left } => (3, Some(left)),
                Met::Gives => (4, None),
                Met::Passes { serial: false } => (5, None),
                Met::Passes { serial: true } => (6, None),
            };
            let first = (u64::from(site) * 8 + what + 1) * 8 + 7;
            let numbers = [first, u64::from(meeting), after, wait];
            numbers.into_iter().chain(left).for_each(|number| push(bytes, number));
        }
        Event::Recorder { time } => {
            [7, time].into_iter().for_each(|number| push(bytes, number));
        }
    }
}

fn push(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Reads a recording from its file.
///
/// # Errors
///
/// The file cannot be read, or is no recording: one line.
pub fn load(path: &Path) -> Result<Recording, InputError> {
    let bytes = read_file(path, MOST_BYTES).map_err(InputError)?;
    let shown = lockyard_support::shown(path);
    read(&bytes).map_err(|what| InputError(format!("{shown}: {what}")))
}

/// Reads a recording.
///
/// # Errors
///
/// What is wrong, where, and what is allowed: a line.
pub fn read(bytes: &[u8]) -> Result<Recording, String> {
    if bytes.is_empty() {
        return Err("the file is empty; allowed: a recording (lockyard record)".to_owned());
    }
    let (first, rest) = line(bytes).unwrap_or((bytes, &[]));
    let version = first.strip_prefix(NAME.as_bytes()).map(String::from_utf8_lossy);
    let Some(version) = version else {
        return Err("not a recording: it does not begin with `lockyard-recording`".to_owned());
    };
    if version != VERSION.to_string() {
        return Err(format!(
            "a recording of version `{}`; this command reads version {VERSION}",
            printable(&version)
        ));
    }
    let Some((second, body)) = line(rest) else {
        return Err("truncated in line 2, which describes the recording".to_owned());
    };
    let mut about: About = serde_json::from_slice(second).map_err(|error| of_line_2(&error))?;
    check_about(&about)?;
    plain(&mut about);
    let offset = bytes.len() - body.len();
    let mut reader = Reader { bytes: body, at: 0, offset };
    let windows = reader.windows(&about)?;
    check_order(&windows)?;
    Ok(Recording { about, windows })
}

/// Returns an error in line 2 of a file, which is JSON.
pub(crate) fn of_line_2(error: &serde_json::Error) -> String {
    let what = error.to_string();
    // The place at the end counts lines within the second one.
    let what = what.rsplit_once(" at line ").map_or(what.as_str(), |(what, _)| what);
    format!("line 2, column {}: {}", error.column(), escaped(what))
}

/// Splits the first line off.
pub(crate) fn line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|&byte| byte == b'\n')?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

fn check_about(about: &About) -> Result<(), String> {
    if !about.seconds.is_finite() || about.seconds < 0.0 {
        return Err(format!("`seconds` is {}; allowed: 0 or more", about.seconds));
    }
    if !about.costs.are_in_range() {
        return Err("a number of `costs` is out of range; allowed: 0 to 1e6 ns".to_owned());
    }
    if about.cpu_time.is_some_and(|time| !time.is_valid()) {
        return Err("a number of `cpu_time` is out of range; allowed: 0 s or more".to_owned());
    }
    let (locks, sites, threads) = (about.locks.len(), about.sites.len(), about.threads.len());
    if let Some(wait) = about.user_waits.iter().find(|wait| wait.site as usize >= sites) {
        return Err(format!("a number of `user_waits`: site {} of {sites}", wait.site));
    }
    let meetings = ("meetings", about.meetings.len());
    for (name, count) in [("locks", locks), ("sites", sites), ("threads", threads), meetings] {
        if count > MOST_NAMES {
            return Err(format!("{count} `{name}`; allowed: at most {MOST_NAMES}"));
        }
    }
    Ok(())
}

/// Replaces characters that a terminal obeys by escapes: a recording may be somebody else's. What
/// `lockyard record` writes has none.
fn plain(about: &mut About) {
    let meetings = about.meetings.iter_mut().map(|meeting| &mut meeting.name);
    let names = about.locks.iter_mut().map(|lock| &mut lock.name).chain(&mut about.sites);
    let names = names.chain(meetings);
    let texts = names.chain(&mut about.command).chain(&mut about.notes).chain(&mut about.no_host);
    for text in texts.chain([&mut about.writer]) {
        *text = escaped(text);
    }
}

struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
    offset: usize,
}

impl Reader<'_> {
    fn fail<T>(&self, what: &str) -> Result<T, String> {
        Err(format!("{what} at byte {}", self.offset + self.at))
    }

    fn number(&mut self) -> Result<u64, String> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let Some(&byte) = self.bytes.get(self.at) else {
                return self.fail("truncated: the file ends");
            };
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return self.fail("a number above 2^64");
            }
            self.at += 1;
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        self.fail("a number of more than ten bytes")
    }

    fn time(&mut self) -> Result<u64, String> {
        let time = self.number()?;
        if time > MOST_TIME { self.fail("a time or a count above 2^62") } else { Ok(time) }
    }

    fn place(&mut self, among: usize, what: &str) -> Result<u32, String> {
        let place = self.number()?;
        if place >= among as u64 {
            return self.fail(&format!("{what} {place} of {among}"));
        }
        Ok(place as u32)
    }

    fn windows(&mut self, about: &About) -> Result<Vec<Window>, String> {
        let (mut windows, mut all) = (Vec::new(), 0u64);
        loop {
            let count = self.number()?;
            if count == 0 {
                break;
            }
            let count = count - 1;
            let left = (self.bytes.len() - self.at) as u64;
            if count > left {
                return self.fail("truncated: a window has more events than the file has bytes");
            }
            let thread = self.place(1 << 31, "thread")?;
            let (begin, acquisitions) = (self.time()?, self.time()?);
            let continues = self.place(2, "continues")? == 1;
            let events: Result<Vec<Event>, String> =
                (0..count).map(|_| self.event(about)).collect();
            all += count;
            windows.push(Window { thread, begin, acquisitions, continues, events: events? });
        }
        if self.number()? != all {
            return self.fail("damaged: the number of events is not that of the file's end");
        }
        if self.at != self.bytes.len() {
            return self.fail("damaged: the recording ends before the file does");
        }
        Ok(windows)
    }

    fn event(&mut self, about: &About) -> Result<Event, String> {
        let first = self.number()?;
        let how = match first & 7 {
            0 => {
                let lock = self.place(about.locks.len(), "lock")?;
                return Ok(Event::Released { lock, after: self.time()? });
            }
            5 => return Ok(Event::OffCpu { time: self.time()?, slept: true }),
            6 => return Ok(Event::OffCpu { time: self.time()?, slept: false }),
            7 if first == 7 => return Ok(Event::Recorder { time: self.time()? }),
            7 => return self.met(about, (first >> 3) - 1),
            1 => How::Waits,
            2 => How::Tries,
            3 => How::Reads,
            _ => How::Condition,
        };
        let site = first >> 3;
        if site >= about.sites.len() as u64 {
            return self.fail(&format!("site {site} of {}", about.sites.len()));
        }
        let lock = self.place(about.locks.len(), "lock")?;
        let (after, wait) = (self.time()?, self.time()?);
        Ok(Event::Acquired { after, lock, site: site as u32, how, wait })
    }

    fn met(&mut self, about: &About, number: u64) -> Result<Event, String> {
        let (site, what) = (number >> 3, number & 7);
        if site >= about.sites.len() as u64 {
            return self.fail(&format!("site {site} of {}", about.sites.len()));
        }
        let meeting = self.place(about.meetings.len(), "meeting")?;
        let (after, wait) = (self.time()?, self.time()?);
        let what = match what {
            0 => Met::Signals,
            1 => Met::Broadcasts,
            2 => Met::Waits,
            3 => Met::Takes { left: self.time()? },
            4 => Met::Gives,
            5 | 6 => Met::Passes { serial: what == 6 },
            _ => return self.fail("an event of an unknown kind"),
        };
        Ok(Event::Met { after, meeting, site: site as u32, what, wait })
    }
}

/// Checks that time and counts of each thread go forward.
fn check_order(windows: &[Window]) -> Result<(), String> {
    let mut ends: HashMap<u32, (u64, u64)> = HashMap::new();
    for window in windows {
        let (end, acquisitions) = ends.entry(window.thread).or_default();
        if window.begin < *end {
            return Err(format!(
                "thread {}: a window begins at {} ns, and the one before ends at {end} ns: the \
                 clock went back",
                window.thread, window.begin
            ));
        }
        if window.acquisitions < *acquisitions {
            return Err(format!(
                "thread {}: {} acquisitions at {} ns, after {acquisitions} before: the count went \
                 back",
                window.thread, window.acquisitions, window.begin
            ));
        }
        *end = window.end();
        *acquisitions = window.acquisitions_at_end();
        if *end > MOST_TIME {
            return Err(format!("thread {}: a time above 2^62 ns", window.thread));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::{
        CpuTime, LockAbout, MeetingAbout, MeetingKind, Switches, ThreadAbout, ThreadUse, UserWait,
    };

    fn small() -> Recording {
        let acquired = |after, lock, how| Event::Acquired { after, lock, site: 1, how, wait: 7 };
        let met = |after, meeting, what| Event::Met { after, meeting, site: 1, what, wait: 4 };
        let window = |thread, begin| Window {
            thread,
            begin,
            acquisitions: 100 + begin / 4,
            continues: begin > 0,
            events: vec![
                acquired(300, 0, How::Waits),
                acquired(5, 1, How::Tries),
                Event::OffCpu { time: 1 << 40, slept: true },
                Event::Released { after: 1 << 20, lock: 1 },
                Event::Recorder { time: 900 },
                Event::OffCpu { time: 3, slept: false },
                Event::Released { after: 0, lock: 0 },
                acquired(0, 1, How::Reads),
                Event::Released { after: 127, lock: 1 },
                met(9, 0, Met::Signals),
                met(1 << 20, 0, Met::Waits),
                acquired(128, 0, How::Condition),
                met(3, 0, Met::Broadcasts),
                met(4, 1, Met::Takes { left: 1 << 14 }),
                met(5, 1, Met::Gives),
                met(6, 2, Met::Passes { serial: true }),
                met(7, 2, Met::Passes { serial: false }),
            ],
        };
        let lock =
            |name: &str, line| LockAbout { name: name.to_owned(), line, ..Default::default() };
        let about = About {
            writer: "a test".to_owned(),
            command: vec!["a".to_owned(), "b c".to_owned()],
            seconds: 1.5,
            cpus: 2,
            locks: vec![lock("first", 1), lock("second", 1)],
            sites: vec!["f".to_owned(), "g".to_owned()],
            meetings: [MeetingKind::Condition, MeetingKind::Semaphore, MeetingKind::Barrier]
                .map(|kind| MeetingAbout { kind, signals: 7, ..MeetingAbout::default() })
                .to_vec(),
            user_waits: vec![UserWait { site: 1, yields: 12, naps: 0 }],
            cpu_time: Some(CpuTime { ran: 1.25, waited: 0.5 }),
            switches: Some(Switches { voluntary: 12, involuntary: 3 }),
            ..About::default()
        };
        Recording { about, windows: vec![window(1, 0), window(2, 5), window(1, 1 << 41)] }
    }

    #[test]
    fn a_recording_is_read_as_it_was_written() {
        let bytes = write(&small());
        assert!(is_recording(&bytes));
        assert_eq!(read(&bytes), Ok(small()));
        // Recordings before 2026-11-27 have no switches.
        let mut older = small();
        older.about.switches = None;
        let bytes = write(&older);
        assert!(!String::from_utf8_lossy(&bytes).contains("switches"));
        assert_eq!(read(&bytes), Ok(older));
    }

    #[test]
    fn counts_of_the_whole_run_are_optional() {
        let mut counted = small();
        counted.about.locks[1].acquired = 1 << 40;
        let mut thread = ThreadAbout { number: 2, acquired: 77, used: None };
        counted.about.threads = vec![thread];
        let bytes = write(&counted);
        assert!(!String::from_utf8_lossy(&bytes).contains("used"));
        assert_eq!(read(&bytes), Ok(counted.clone()));
        for waited_ns in [None, Some(40)] {
            let switches = Switches { voluntary: 3, involuntary: 1 };
            let used = ThreadUse { acquired: 76, lived_ns: 900, cpu_ns: 700, waited_ns, switches };
            thread.used = Some(used);
            counted.about.threads = vec![thread];
            assert_eq!(read(&write(&counted)), Ok(counted.clone()));
        }
        // A recording from before 2026-11-27.
        let about = "{\"writer\":\"w\",\"command\":[],\"seconds\":1,\"cpus\":2,\"locks\":\
                     [{\"name\":\"a\",\"kind\":\"mutex\",\"line\":1}],\"sites\":[\"s\"]}";
        let events = [3, 1, 9, 4, 0, 1, 0, 5, 0, 0, 0, 7, 0, 2];
        let bytes = [b"lockyard-recording 1\n", about.as_bytes(), b"\n", &events].concat();
        let older = read(&bytes).expect("it is one");
        assert_eq!((older.about.locks[0].acquired, older.about.threads.len()), (0, 0));
        assert_eq!((older.windows[0].acquisitions, older.windows[0].acquired()), (4, 1));
        let text = String::from_utf8_lossy(&write(&older)).into_owned();
        assert!(!text.contains("acquired") && !text.contains("threads"), "{text}");
        assert!(!text.contains("meetings") && !text.contains("user_waits"), "{text}");
    }

    #[test]
    fn names_of_others_are_text() {
        let mut evil = small();
        evil.about.locks[0].name = "\u{1b}]0;x\u{7}\n\u{202e}".to_owned();
        evil.about.sites[1] = "\u{1b}[2Jsite".to_owned();
        evil.about.notes = vec!["a\rb".to_owned()];
        let read = read(&write(&evil)).expect("it is a recording");
        assert_eq!(read.about.locks[0].name, "\\u{1b}]0;x\\u{7}\\n\\u{202e}");
        assert_eq!(read.about.sites[1], "\\u{1b}[2Jsite");
        assert_eq!(read.about.notes, ["a\\rb"]);
        assert_eq!(super::read(&write(&read)), Ok(read));
    }

    #[test]
    fn every_truncation_is_noticed() {
        let bytes = write(&small());
        for length in 0..bytes.len() {
            assert!(read(&bytes[..length]).is_err(), "{length} of {}", bytes.len());
        }
        let wrong = |bytes: &[u8]| read(bytes).expect_err("it is wrong");
        assert!(wrong(&[]).contains("empty"));
        assert!(wrong(&bytes[..bytes.len() - 3]).contains("truncated"), "{}", wrong(&bytes[..9]));
        assert!(wrong(&[&bytes[..], &[0]].concat()).contains("ends before the file"));
    }

    #[test]
    fn other_versions_files_and_clocks_are_refused() {
        let wrong = |bytes: &[u8]| read(bytes).expect_err("it is wrong");
        assert!(wrong(b"lockyard-recording 2\n{}\n").contains("version `2`"));
        assert!(wrong(b"\x7fELF").contains("not a recording"));
        assert!(wrong(b"lockyard-recording 1\n{\"writer\": 3}\n").contains("line 2"));
        let mut back = small();
        back.windows[2].begin = 100;
        assert!(wrong(&write(&back)).contains("clock went back"));
        let mut fewer = small();
        fewer.windows[2].acquisitions = 99;
        assert!(wrong(&write(&fewer)).contains("count went back"));
        let mut far = small();
        far.about.locks.pop();
        assert!(wrong(&write(&far)).contains("lock 1 of 1"));
        let mut nowhere = small();
        nowhere.about.user_waits[0].site = 2;
        assert!(wrong(&write(&nowhere)).contains("user_waits"));
        let mut alone = small();
        alone.about.meetings.pop();
        assert!(wrong(&write(&alone)).contains("meeting 2 of 2"));
        let mut slow = small();
        slow.about.costs.hold = -1.0;
        assert!(wrong(&write(&slow)).contains("costs"));
        let mut never = small();
        never.about.cpu_time = Some(CpuTime { ran: -1.0, waited: 0.0 });
        assert!(wrong(&write(&never)).contains("cpu_time"));
    }

    #[test]
    fn damaged_bytes_never_panic() {
        let bytes = write(&small());
        for at in 0..bytes.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] = value;
                if let Ok(recording) = read(&damaged) {
                    let _ = crate::model::Model::of(&recording);
                }
            }
        }
    }
}
