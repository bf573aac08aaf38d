//! A file of records, as the preload library left it. Each offset is checked: a program that writes
//! where it must not may have hit the file.

use crate::times::Times;
use lockyard_records::histogram::BUCKETS;
use lockyard_records::{
    ENTRY_UNIT, Entry, FIRST_HOLDS, HEADS, Header, Held, Lock, MAGIC, MAX_HELD, Pair, Text, Thread,
    VERSION,
};
use std::collections::HashMap;

/// Maximum number of steps along a list: a circle in a damaged file ends here.
const MOST: usize = 1 << 26;

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
unsafe impl Plain for Entry {}
// SAFETY: as above.
unsafe impl Plain for Lock {}
// SAFETY: as above.
unsafe impl Plain for Pair {}
// SAFETY: as above.
unsafe impl Plain for Text {}
// SAFETY: as above.
unsafe impl Plain for u32 {}
// SAFETY: as above.
unsafe impl Plain for u64 {}

/// Records of a process.
#[derive(Clone, Debug)]
pub struct Records {
    /// Beginning of the file.
    pub header: Header,
    /// Path of the program.
    pub program: String,
    /// Entries, each with the number of its place in the file among threads.
    pub entries: Vec<(usize, Entry)>,
    /// Holds of the entry of the same index.
    pub holds: Vec<Times>,
    /// Waits of the entry of the same index.
    pub waits: Vec<Times>,
    /// Pairs of all threads.
    pub pairs: Vec<Pair>,
    /// Locks that were held at the end, with the system's number of the thread.
    pub held: Vec<(u32, Held)>,
    /// Locks by address.
    pub locks: HashMap<u64, Lock>,
    /// Copies of the mappings, the latest first.
    pub maps: Vec<String>,
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

    fn holds(&self, entry: &Entry) -> Times {
        let mut times = Times::default();
        if entry.hold_histogram != 0 {
            self.histogram(entry.hold_histogram, &mut times);
        } else {
            let count = (entry.holds as usize).min(FIRST_HOLDS);
            entry.first_holds[..count].iter().for_each(|&hold| times.add_time(u64::from(hold)));
        }
        (times.count, times.total, times.max) = (entry.holds, entry.hold_ticks, entry.hold_max);
        times
    }

    fn waits(&self, entry: &Entry) -> Times {
        let mut times = Times::default();
        if entry.wait_histogram != 0 {
            self.histogram(entry.wait_histogram, &mut times);
        }
        (times.count, times.total, times.max) = (entry.contended, entry.wait_ticks, entry.wait_max);
        times
    }

    fn maps(&self, header: &Header) -> Vec<String> {
        let mut maps = Vec::new();
        let mut offset = header.maps;
        while offset != 0 && maps.len() < 1000 {
            let Some(text) = self.get::<Text>(offset) else { break };
            let from = offset as usize + size_of::<Text>();
            let to = from.saturating_add(text.bytes as usize).min(self.0.len());
            let bytes = self.0.get(from..to).unwrap_or_default();
            maps.push(String::from_utf8_lossy(bytes).into_owned());
            offset = text.next;
        }
        maps
    }

    fn locks(&self, header: &Header) -> HashMap<u64, Lock> {
        let mut locks = HashMap::new();
        for head in 0..HEADS as u64 {
            let mut offset = self.element::<u64>(header.heads, head).unwrap_or(0);
            while offset != 0 && locks.len() < MOST {
                let Some(lock) = self.get::<Lock>(offset) else { break };
                if locks.insert(lock.address, lock).is_some() {
                    break;
                }
                offset = u64::from(lock.next) * 64;
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
            entries: Vec::new(),
            holds: Vec::new(),
            waits: Vec::new(),
            pairs: Vec::new(),
            held: Vec::new(),
            locks: bytes.locks(&header),
            maps: bytes.maps(&header),
        };
        let mut offset = header.threads;
        let mut number = 0;
        while let Some(thread) = bytes.get::<Thread>(offset).filter(|_| offset != 0) {
            records.add(&bytes, number, &thread);
            number += 1;
            offset = thread.next;
            if number > MOST {
                break;
            }
        }
        Ok(Some(records))
    }

    fn add(&mut self, bytes: &Bytes, number: usize, thread: &Thread) {
        for index in 0..u64::from(thread.entry_room) {
            // A damaged size may lead far beyond the end of the file.
            let Some(found) = bytes.element::<u32>(thread.entries, index) else { break };
            let entry = bytes.get::<Entry>(u64::from(found) * ENTRY_UNIT).filter(|_| found != 0);
            if let Some(entry) = entry {
                self.holds.push(bytes.holds(&entry));
                self.waits.push(bytes.waits(&entry));
                self.entries.push((number, entry));
            }
        }
        for index in 0..u64::from(thread.pair_room) {
            let Some(pair) = bytes.element::<Pair>(thread.pairs, index) else { break };
            self.pairs.extend(Some(pair).filter(|pair| pair.inner != 0 && pair.count > 0));
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
        assert!(records.entries.is_empty() && records.locks.is_empty());
    }
}
