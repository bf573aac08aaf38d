//! A file of records, as the preload library left it. Each offset is checked: a program that writes
//! where it must not may have hit the file.

use crate::times::{Holds, Times};
use lockyard_records::histogram::BUCKETS;
use lockyard_records::{
    BY_CHANCE, EVENT, Entry, FIRST_HOLDS, HEADS, Header, Held, Lock, MAGIC, MAX_HELD, Pair, Slot,
    TABLE_HEADER, Text, Thread, VERSION, WINDOW_EVENTS, Window, entry_of, event,
};
use std::collections::HashMap;

/// Maximum number of locks: a circle in a damaged file ends here.
const MOST: usize = 1 << 26;

/// Bytes that may still be read: a circle in a damaged file ends when there are none.
struct Room(usize);

impl Room {
    /// Takes bytes. Returns false if there are too few.
    fn take(&mut self, size: usize) -> bool {
        let left = self.0.checked_sub(size);
        self.0 = left.unwrap_or_default();
        left.is_some()
    }
}

/// Structures of numbers, for which all bytes are valid.
///
/// # Safety
///
/// The type has no padding that is read and no invalid values.
unsafe trait Plain: Copy {}

// SAFETY: all fields are numbers, or arrays of them.
unsafe impl Plain for Header {}
// SAFETY: as above.
unsafe impl Plain for Thread {}
// SAFETY: as above.
unsafe impl Plain for Slot {}
// SAFETY: as above.
unsafe impl Plain for Entry {}
// SAFETY: as above.
unsafe impl Plain for Lock {}
// SAFETY: as above.
unsafe impl Plain for Pair {}
// SAFETY: as above.
unsafe impl Plain for Text {}
// SAFETY: as above.
unsafe impl Plain for Window {}
// SAFETY: as above.
unsafe impl Plain for u32 {}
// SAFETY: as above.
unsafe impl Plain for u64 {}

/// Events of one kind, of a lock at a call site by a thread.
#[derive(Clone, Debug)]
pub struct Events {
    /// Address of the lock.
    pub lock: u64,
    /// Return address of the call.
    pub site: u64,
    /// Kind of the events.
    pub kind: u64,
    /// Number of events.
    pub count: u64,
    /// Holds that began with these events.
    pub holds: Holds,
    /// Contended acquisitions.
    pub waits: Times,
    /// Total time of waits for a condition.
    pub condition_ticks: u64,
}

/// Records of a process.
#[derive(Clone, Debug)]
pub struct Records {
    /// Beginning of the file.
    pub header: Header,
    /// Path of the program.
    pub program: String,
    /// Events of all threads.
    pub events: Vec<Events>,
    /// Pairs of all threads.
    pub pairs: Vec<Pair>,
    /// Locks that were held at the end, with the system's number of the thread.
    pub held: Vec<(u32, Held)>,
    /// Locks by address.
    pub locks: HashMap<u64, Lock>,
    /// Copies of the mappings, the latest first.
    pub maps: Vec<String>,
    /// Runs of events of all threads, the latest first.
    pub windows: Vec<Window>,
}

/// Bytes of a file.
struct Bytes<'b>(&'b [u8]);

impl Bytes<'_> {
    fn get<T: Plain>(&self, offset: u64) -> Option<T> {
        let from = usize::try_from(offset).ok()?;
        let bytes = self.0.get(from..from.checked_add(size_of::<T>())?)?;
        // SAFETY: the bytes are there, all of them are valid for the type, and it is read
        // unaligned.
        Some(unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
    }

    /// Returns an element of a table.
    fn element<T: Plain>(&self, table: u64, index: u64) -> Option<T> {
        self.get(table.checked_add(index.checked_mul(size_of::<T>() as u64)?)?)
    }

    fn histogram(&self, offset: u64, into: &mut Times) {
        for bucket in 0..BUCKETS {
            let count: u32 = self.element(offset, bucket as u64).unwrap_or(0);
            into.add_bucket(bucket, u64::from(count));
        }
    }

    fn holds(&self, entry: &Entry, count: u64) -> Holds {
        let (mut early, mut by_chance) = (Times::default(), Times::default());
        if entry.early_histogram != 0 || entry.chance_histogram != 0 {
            self.histogram(entry.early_histogram, &mut early);
            self.histogram(entry.chance_histogram, &mut by_chance);
        } else {
            let timed =
                (entry.early_count.saturating_add(entry.chance_count) as usize).min(FIRST_HOLDS);
            for hold in &entry.first_holds[..timed] {
                let to = if hold & BY_CHANCE == 0 { &mut early } else { &mut by_chance };
                to.add_time(u64::from(hold & !BY_CHANCE));
            }
        }
        (early.count, early.total) = (entry.early_count, entry.early_ticks);
        (by_chance.count, by_chance.total) = (entry.chance_count, entry.chance_ticks);
        early.max = entry.hold_max;
        let lost = entry.early_lost.saturating_add(entry.chance_lost);
        Holds { count, early_begun: entry.early_begun, early, by_chance, lost }
    }

    fn waits(&self, entry: &Entry) -> Times {
        let mut times = Times::default();
        if entry.wait_histogram != 0 {
            self.histogram(entry.wait_histogram, &mut times);
        }
        (times.count, times.total, times.max) = (entry.contended, entry.wait_ticks, entry.wait_max);
        times
    }

    /// Returns the events of a slot.
    fn events(&self, slot: &Slot) -> Option<Events> {
        let entry = self.get::<Entry>(entry_of(slot.count))?;
        let kind = entry.site & event::MASK;
        let count = entry.more_events.saturating_add(slot.count / EVENT);
        let is_hold = [event::ACQUIRED, event::READ, event::CONDITION].contains(&kind);
        let is_condition = kind == event::CONDITION;
        Some(Events {
            lock: entry.lock,
            site: entry.site & !event::MASK,
            kind,
            count,
            holds: self.holds(&entry, if is_hold { count } else { 0 }),
            waits: if is_condition { Times::default() } else { self.waits(&entry) },
            condition_ticks: if is_condition { entry.wait_ticks } else { 0 },
        })
    }

    fn maps(&self, header: &Header) -> Vec<String> {
        let mut maps = Vec::new();
        let mut offset = header.maps;
        // In a damaged file, copies may be in a circle.
        let mut room = Room(self.0.len());
        while offset != 0 && maps.len() < 1000 {
            let Some(text) = self.get::<Text>(offset) else { break };
            let from = offset as usize + size_of::<Text>();
            let to = from.saturating_add(text.bytes as usize).min(self.0.len());
            if !room.take(to - from) {
                break;
            }
            let bytes = self.0.get(from..to).unwrap_or_default();
            maps.push(String::from_utf8_lossy(bytes).into_owned());
            offset = text.next;
        }
        maps
    }

    /// Returns the runs of events, each with no more events than it has room for.
    fn windows(&self, header: &Header) -> Vec<Window> {
        let mut windows = Vec::new();
        let mut offset = header.windows;
        let most = self.0.len() / size_of::<Window>();
        while offset != 0 && windows.len() < most {
            let Some(mut window) = self.get::<Window>(offset) else { break };
            offset = window.next;
            window.count = window.count.min(WINDOW_EVENTS as u32);
            windows.push(window);
        }
        windows
    }

    fn locks(&self, header: &Header) -> HashMap<u64, Lock> {
        let mut locks = HashMap::new();
        let heads = (0..HEADS as u64).filter_map(|head| self.element::<u32>(header.heads, head));
        let mut next: Vec<u32> = heads.collect();
        while let Some(offset) = next.pop() {
            if offset == 0 || locks.len() >= MOST {
                continue;
            }
            let Some(lock) = self.get::<Lock>(u64::from(offset) * 64) else { continue };
            // In a damaged file, a lock may be its own child.
            if locks.insert(lock.address, lock).is_none() {
                next.extend(lock.children);
            }
        }
        locks
    }
}

impl Records {
    /// Reads a file. Returns `None` if the process ended before its file was complete.
    ///
    /// # Errors
    ///
    /// The file is of another version.
    pub fn read(bytes: &[u8]) -> Result<Option<Records>, String> {
        let bytes = Bytes(bytes);
        let Some(header) = bytes.get::<Header>(0) else { return Ok(None) };
        if header.magic != MAGIC {
            return Ok(None);
        }
        if header.version != VERSION {
            return Err(format!(
                "the preload library wrote version {} of the records; this command reads {VERSION}",
                header.version
            ));
        }
        let name = header.program.split(|&byte| byte == 0).next().unwrap_or_default();
        let mut records = Records {
            header,
            program: String::from_utf8_lossy(name).into_owned(),
            events: Vec::new(),
            pairs: Vec::new(),
            held: Vec::new(),
            locks: bytes.locks(&header),
            maps: bytes.maps(&header),
            windows: bytes.windows(&header),
        };
        let mut offset = header.threads;
        // In a damaged file, threads may be in a circle, or share their tables.
        let mut room = Room(bytes.0.len());
        while let Some(thread) = bytes.get::<Thread>(offset).filter(|_| offset != 0) {
            if !room.take(size_of::<Thread>()) {
                break;
            }
            records.add(&bytes, &thread, &mut room);
            offset = thread.next;
        }
        Ok(Some(records))
    }

    /// Adds the tables of a thread. `room` is the size of what the file may still contain.
    fn add(&mut self, bytes: &Bytes, thread: &Thread, room: &mut Room) {
        let size = bytes.get::<u64>(thread.slots.wrapping_sub(TABLE_HEADER)).unwrap_or(0);
        for index in 0..size {
            // A damaged size may lead far beyond the end of the file.
            let slot = bytes.element::<Slot>(thread.slots, index);
            let Some(slot) = slot.filter(|_| room.take(size_of::<Slot>())) else { break };
            self.events.extend(
                Some(slot).filter(|slot| slot.key != 0).and_then(|slot| bytes.events(&slot)),
            );
        }
        for index in 0..u64::from(thread.pair_room) {
            let pair = bytes.element::<Pair>(thread.pairs, index);
            let Some(pair) = pair.filter(|_| room.take(size_of::<Pair>())) else { break };
            self.pairs.extend(Some(pair).filter(|pair| pair.inner != 0));
        }
        let count = (thread.held_count as usize).min(MAX_HELD);
        self.held.extend(thread.held[..count].iter().map(|held| (thread.tid, *held)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_a_file_of_records_is_no_records() {
        assert!(Records::read(&[]).expect("no version").is_none());
        assert!(Records::read(&[0; 4096]).expect("no version").is_none());
        let mut bytes = vec![0xff; 4096];
        bytes[..8].copy_from_slice(&MAGIC.to_le_bytes());
        assert!(Records::read(&bytes).is_err());
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        let records = Records::read(&bytes).expect("it is the version").expect("it is complete");
        assert!(records.events.is_empty() && records.locks.is_empty());
    }

    /// The bytes of a plain type, for a file.
    fn put<T: Plain>(bytes: &mut [u8], offset: usize, value: &T) {
        assert!(offset + size_of::<T>() <= bytes.len());
        // SAFETY: the bytes are there, and the value has no other owner that matters: it is plain.
        unsafe {
            std::ptr::from_ref(value)
                .cast::<u8>()
                .copy_to_nonoverlapping(bytes[offset..].as_mut_ptr(), size_of::<T>());
        }
    }

    #[test]
    fn a_circle_of_threads_and_maps_ends() {
        const THREAD: usize = 4096;
        const TEXT: usize = 8192;
        let mut bytes = vec![0; 16_384];
        let all = Bytes(&bytes);
        let mut header: Header = all.get(0).expect("it fits");
        let mut thread: Thread = all.get(0).expect("it fits");
        let mut text: Text = all.get(0).expect("it fits");
        (header.magic, header.version) = (MAGIC, VERSION);
        (header.threads, header.maps) = (THREAD as u64, TEXT as u64);
        (thread.next, thread.held_count) = (THREAD as u64, 1);
        (text.next, text.bytes) = (TEXT as u64, 5_000);
        put(&mut bytes, 0, &header);
        put(&mut bytes, THREAD, &thread);
        put(&mut bytes, TEXT, &text);
        let records = Records::read(&bytes).expect("it is the version").expect("it is complete");
        let most = bytes.len() / size_of::<Thread>();
        assert!((1..=most).contains(&records.held.len()), "{} held", records.held.len());
        assert!(records.maps.iter().map(String::len).sum::<usize>() <= bytes.len());
    }
}
