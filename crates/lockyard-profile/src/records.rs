//! The contents of a file of records, as the preload library left it. Each offset is checked,
//! because a stray write of the program may have damaged the file. The size of the result is
//! bounded by the number of bytes that were written, and not by the counts in the file.

use crate::notes::{self, Noted};
use crate::times::{Holds, Times};
use crate::waits::Waits;
use lockyard_records::histogram::BUCKETS;
use lockyard_records::{
    BY_CHANCE, EVENT, Entry, FIRST_HOLDS, HEADS, Header, Held, Lock, MAGIC, MAX_HELD, Pair, Slot,
    TABLE_HEADER, Text, Thread, Used, VERSION, WINDOW_EVENTS, Waits as Recorded, Window, entry_of,
    event,
};
use std::collections::HashMap;
use std::ops::Range;

/// Maximum number of locks: a cycle in a damaged file ends here.
const MOST: usize = 1 << 26;

/// Maximum number of copies of the mappings; the library makes fewer.
const MOST_MAPS: usize = 1000;

/// Number of bytes that may still be read. A cycle in a damaged file ends when none are left.
struct Room(usize);

impl Room {
    /// Number of bytes for structures that do not overlap. A structure may begin or end where
    /// nothing was written.
    fn of(bytes: &Bytes) -> Room {
        Room(bytes.written.saturating_mul(2).min(bytes.all.len()))
    }

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
/// The type must have no padding that is read, and no invalid values.
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
unsafe impl Plain for Recorded {}
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
    /// Contended acquisitions, or waits for a condition.
    pub waits: Waits,
}

/// Totals of a thread over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadCounts {
    /// Index of the thread.
    pub number: u32,
    /// The system's ID of the thread.
    pub tid: u32,
    /// Number of acquisitions.
    pub acquired: u64,
    /// The thread's use of processors.
    pub used: Used,
}

/// Records of a process.
#[derive(Clone, Debug)]
pub struct Records {
    /// Beginning of the file.
    pub header: Header,
    /// Path of the program's file.
    pub program: String,
    /// Name of the program, as it was called.
    pub name: String,
    /// Events of all threads.
    pub events: Vec<Events>,
    /// Pairs of all threads.
    pub pairs: Vec<Pair>,
    /// Locks that were held at the end, with the system's ID of the thread.
    pub held: Vec<(u32, Held)>,
    /// Totals of the threads. If the records of an ended thread were given to another thread, the
    /// totals count for the other thread.
    pub threads: Vec<ThreadCounts>,
    /// Locks by address.
    pub locks: HashMap<u64, Lock>,
    /// Copies of the mappings, the latest first.
    pub maps: Vec<Vec<u8>>,
    /// Runs of events of all threads, the latest first.
    pub windows: Vec<Window>,
    /// Events other than lock operations that the recorder noticed, in order.
    pub notes: Vec<Noted>,
}

/// Bytes of a file.
struct Bytes<'b> {
    all: &'b [u8],
    /// Parts of the file that were written, in order. All other bytes are zeros.
    parts: &'b [Range<usize>],
    /// Number of bytes in these parts.
    written: usize,
}

impl Bytes<'_> {
    /// Returns the first offset from `at` on that was written, and the end of that part.
    fn written_from(&self, at: usize) -> Option<(usize, usize)> {
        let index = self.parts.partition_point(|part| part.end <= at);
        self.parts.get(index).map(|part| (part.start.max(at), part.end))
    }

    /// Calls `each` with the elements of a table, except those where nothing was written, until
    /// there is no room.
    fn elements<T: Plain>(&self, table: u64, count: u64, room: &mut Room, mut each: impl FnMut(T)) {
        let Ok(table) = usize::try_from(table) else { return };
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let (mut index, mut end) = (0, 0);
        while index < count {
            let Some(at) = index.checked_mul(size_of::<T>()).and_then(|at| at.checked_add(table))
            else {
                return;
            };
            if at >= end {
                let Some((next, part_end)) = self.written_from(at) else { return };
                end = part_end;
                let skipped = (next - at) / size_of::<T>();
                if skipped > 0 {
                    index += skipped;
                    continue;
                }
            }
            // A damaged size may lead far beyond the end of the file.
            let element = self.get::<T>(at as u64).filter(|_| room.take(size_of::<T>()));
            let Some(element) = element else { return };
            each(element);
            index += 1;
        }
    }

    fn get<T: Plain>(&self, offset: u64) -> Option<T> {
        let from = usize::try_from(offset).ok()?;
        let bytes = self.all.get(from..from.checked_add(size_of::<T>())?)?;
        // SAFETY: the bytes are in the buffer, all bytes are valid for the type, and the read is
        // unaligned.
        Some(unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
    }

    /// Returns an element of a table.
    fn element<T: Plain>(&self, table: u64, index: u64) -> Option<T> {
        self.get(table.checked_add(index.checked_mul(size_of::<T>() as u64)?)?)
    }

    fn histogram(&self, offset: u64, into: &mut Times, room: &mut Room) {
        if offset == 0 || !room.take(BUCKETS * size_of::<u32>()) {
            return;
        }
        for bucket in 0..BUCKETS {
            let count: u32 = self.element(offset, bucket as u64).unwrap_or(0);
            into.add_bucket(bucket, u64::from(count));
        }
    }

    fn holds(&self, entry: &Entry, count: u64, room: &mut Room) -> Holds {
        let (mut early, mut by_chance) = (Times::default(), Times::default());
        if entry.early_histogram != 0 || entry.chance_histogram != 0 {
            self.histogram(entry.early_histogram, &mut early, room);
            self.histogram(entry.chance_histogram, &mut by_chance, room);
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

    fn waits(&self, entry: &Entry, room: &mut Room) -> Waits {
        let is_there = entry.waits != 0 && room.take(size_of::<Recorded>());
        let recorded = is_there.then(|| self.get::<Recorded>(entry.waits)).flatten();
        Waits::of(entry.contended, &recorded.unwrap_or(Recorded::NONE))
    }

    /// Returns the events of a slot. Each slot has its own entry.
    fn events(&self, slot: &Slot, room: &mut Room) -> Option<Events> {
        let entry = self.get::<Entry>(entry_of(slot.count))?;
        if !room.take(size_of::<Entry>()) {
            return None;
        }
        let kind = entry.site & event::MASK;
        let count = entry.more_events.saturating_add(slot.count / EVENT);
        let is_hold = [event::ACQUIRED, event::READ, event::CONDITION].contains(&kind);
        Some(Events {
            lock: entry.lock,
            site: entry.site & !event::MASK,
            kind,
            count,
            holds: self.holds(&entry, if is_hold { count } else { 0 }, room),
            waits: self.waits(&entry, room),
        })
    }

    fn maps(&self, header: &Header) -> Vec<Vec<u8>> {
        let mut maps = Vec::new();
        let mut offset = header.maps;
        // In a damaged file, copies may be in a cycle.
        let mut room = Room::of(self);
        while offset != 0 && maps.len() < MOST_MAPS {
            let Some(text) = self.get::<Text>(offset) else { break };
            let from = offset as usize + size_of::<Text>();
            let to = from.saturating_add(text.bytes as usize).min(self.all.len());
            if !room.take(to.saturating_sub(from)) {
                break;
            }
            maps.push(self.all.get(from..to).unwrap_or_default().to_vec());
            offset = text.next;
        }
        maps
    }

    /// Returns the runs of events, each with no more events than it has room for.
    fn windows(&self, header: &Header) -> Vec<Window> {
        let mut windows = Vec::new();
        let mut offset = header.windows;
        let most = Room::of(self).0 / size_of::<Window>();
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
    /// Reads the contents of a file. Returns `None` if the process ended before its file was
    /// complete.
    ///
    /// # Errors
    ///
    /// The file is of another version.
    pub fn read(bytes: &[u8]) -> Result<Option<Records>, String> {
        let all = 0..bytes.len();
        Records::read_parts(bytes, std::slice::from_ref(&all))
    }

    /// Does the same for a file of which only these parts were written, in order; all other bytes
    /// are zeros.
    ///
    /// # Errors
    ///
    /// The same as for [`Records::read`].
    pub fn read_parts(bytes: &[u8], parts: &[Range<usize>]) -> Result<Option<Records>, String> {
        let written = parts.iter().map(ExactSizeIterator::len).sum();
        let bytes = Bytes { all: bytes, parts, written };
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
        let mut names = header.program.split(|&byte| byte == 0).map(String::from_utf8_lossy);
        let mut next = || names.next().unwrap_or_default().into_owned();
        let (program, called, own) = (next(), next(), next());
        let mut records = Records {
            header,
            name: name(&program, called, own),
            program,
            events: Vec::new(),
            pairs: Vec::new(),
            held: Vec::new(),
            threads: Vec::new(),
            locks: bytes.locks(&header),
            maps: bytes.maps(&header),
            windows: bytes.windows(&header),
            notes: notes::read(bytes.all, &header),
        };
        let mut offset = header.threads;
        // In a damaged file, threads may be in a cycle, or share their tables.
        let mut room = Room::of(&bytes);
        // Slots may share their entries too.
        let mut entries = Room::of(&bytes);
        while let Some(thread) = bytes.get::<Thread>(offset).filter(|_| offset != 0) {
            if !room.take(size_of::<Thread>()) {
                break;
            }
            records.add(&bytes, &thread, &mut room, &mut entries);
            offset = thread.next;
        }
        Ok(Some(records))
    }

    /// Adds the tables of a thread. `room` is the budget for the tables, and `entries` the budget
    /// for the entries that they point to.
    fn add(&mut self, bytes: &Bytes, thread: &Thread, room: &mut Room, entries: &mut Room) {
        let size = bytes.get::<u64>(thread.slots.wrapping_sub(TABLE_HEADER)).unwrap_or(0);
        bytes.elements::<Slot>(thread.slots, size, room, |slot| {
            let slot = Some(slot).filter(|slot| slot.key != 0);
            self.events.extend(slot.and_then(|slot| bytes.events(&slot, entries)));
        });
        let pairs = u64::from(thread.pair_room);
        bytes.elements::<Pair>(thread.pairs, pairs, room, |pair| {
            self.pairs.extend(Some(pair).filter(|pair| pair.inner != 0));
        });
        let &Thread { number, tid, used, .. } = thread;
        let acquired = thread.given.saturating_sub(thread.countdown);
        self.threads.push(ThreadCounts { number, tid, acquired, used });
        let count = (thread.held_count as usize).min(MAX_HELD);
        self.held.extend(thread.held[..count].iter().map(|held| (thread.tid, *held)));
    }
}

/// Returns the name of a program, given the path of its file, its name as it was called, and the
/// name that the process had at the time, of which the system keeps 15 bytes. A child of a fork
/// gets the process's name, because workers have their own names.
fn name(program: &str, called: String, own: String) -> String {
    let file = program.rsplit('/').next().unwrap_or(program);
    let known = if called.is_empty() { file } else { &called };
    let is_cut = own.len() == lockyard_records::OWN_NAME && known.starts_with(&own);
    if own.is_empty() || is_cut { known.to_owned() } else { own }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockyard_records::ENTRY_UNIT;

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
        // SAFETY: the bytes are in the buffer, and the type is plain data.
        unsafe {
            std::ptr::from_ref(value)
                .cast::<u8>()
                .copy_to_nonoverlapping(bytes[offset..].as_mut_ptr(), size_of::<T>());
        }
    }

    /// A table that claims the size of the file costs only as much as was written.
    #[test]
    fn tables_are_read_where_they_were_written() {
        const THREAD: usize = 4096;
        const SLOTS: usize = 8192 + TABLE_HEADER as usize;
        const FAR: usize = 1 << 29;
        let mut bytes = vec![0; 1 << 30];
        let zero = Bytes { all: &bytes, parts: &[], written: 0 };
        let mut header: Header = zero.get(0).expect("it fits");
        let mut thread: Thread = zero.get(0).expect("it fits");
        let slot = Slot { key: 7, count: EVENT + (FAR as u64 + 4096) / ENTRY_UNIT };
        (header.magic, header.version, header.threads) = (MAGIC, VERSION, THREAD as u64);
        (thread.slots, thread.pairs, thread.pair_room) = (SLOTS as u64, 4096, u32::MAX);
        put(&mut bytes, 0, &header);
        put(&mut bytes, THREAD, &thread);
        put(&mut bytes, SLOTS - TABLE_HEADER as usize, &u64::MAX);
        put(&mut bytes, SLOTS, &slot);
        put(&mut bytes, FAR, &slot);
        let parts = [0..16_384, FAR..FAR + 8192];
        let begun = std::time::Instant::now();
        let read = || Records::read_parts(&bytes, &parts).expect("the version").expect("complete");
        (0..1000).for_each(|_| assert_eq!(read().events.len(), 2));
        assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
    }

    #[test]
    fn many_slots_of_one_entry_are_bounded() {
        const THREAD: usize = 4096;
        let mut bytes = vec![0xff; 1 << 20];
        let zeros = [0; 4096];
        let zero = Bytes { all: &zeros, parts: &[], written: 0 };
        let mut header: Header = zero.get(0).expect("it fits");
        let mut thread: Thread = zero.get(0).expect("it fits");
        (header.magic, header.version, header.threads) = (MAGIC, VERSION, THREAD as u64);
        thread.slots = 8192;
        put(&mut bytes, 0, &header);
        put(&mut bytes, THREAD, &thread);
        for at in (8192..bytes.len()).step_by(size_of::<Slot>()) {
            put(&mut bytes, at, &Slot { key: 1, count: EVENT + 1 });
        }
        let records = Records::read(&bytes).expect("it is the version").expect("it is complete");
        let most = bytes.len() / size_of::<Entry>();
        assert!((1..=most).contains(&records.events.len()), "{}", records.events.len());
    }

    #[test]
    fn a_name_is_the_child_s_own_unless_it_is_cut() {
        let of = |called: &str, own: &str| name("/bin/file", called.to_owned(), own.to_owned());
        assert_eq!(of("", ""), "file");
        assert_eq!(of("redis-server", ""), "redis-server");
        assert_eq!(of("redis-server", "bio_close_file"), "bio_close_file");
        assert_eq!(of("a-name-of-many-letters", "a-name-of-many-"), "a-name-of-many-letters");
    }

    #[test]
    fn a_circle_of_threads_and_maps_ends() {
        const THREAD: usize = 4096;
        const TEXT: usize = 8192;
        let mut bytes = vec![0; 16_384];
        let all = Bytes { all: &bytes, parts: &[], written: 0 };
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
        assert!(records.maps.iter().map(Vec::len).sum::<usize>() <= bytes.len());
    }
}
