//! Events other than lock operations that the recorder noticed, from a file of records. As
//! everywhere in the file, the contents are not trusted: a note that is not within the file ends
//! the list.

use lockyard_records::{Header, MOST_NOTES, Note};

/// A note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noted {
    /// Kind, of `lockyard_records::note`.
    pub kind: u32,
    /// Process that the note is about.
    pub pid: u32,
    /// Time in ticks.
    pub ticks: u64,
    /// State of a program that was executed.
    pub state: u32,
    /// Both parts of its text.
    pub texts: [String; 2],
}

/// Maximum number of bytes of a text.
const MOST_BYTES: usize = 16 << 10;

/// Reads the notes of a file, the first one first.
pub fn read(bytes: &[u8], header: &Header) -> Vec<Noted> {
    let mut notes = Vec::new();
    let mut offset = header.notes;
    while offset != 0 && (notes.len() as u64) < MOST_NOTES {
        let Some((note, next)) = note(bytes, offset) else { break };
        notes.push(note);
        offset = next;
    }
    notes.reverse();
    notes
}

/// Returns the note at an offset, and the offset of the previous note.
fn note(bytes: &[u8], offset: u64) -> Option<(Noted, u64)> {
    let from = usize::try_from(offset).ok()?;
    let fixed = bytes.get(from..from.checked_add(size_of::<Note>())?)?;
    let long = |at: usize| Some(u64::from_le_bytes(fixed.get(at..at + 8)?.try_into().ok()?));
    let short = |at: usize| Some(u32::from_le_bytes(fixed.get(at..at + 4)?.try_into().ok()?));
    let length = short(std::mem::offset_of!(Note, bytes))? as usize;
    let text = from + size_of::<Note>();
    let text = bytes.get(text..text.checked_add(length.min(MOST_BYTES))?)?;
    let mut parts = text.split(|&byte| byte == 0);
    let mut part = || String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    let noted = Noted {
        kind: short(std::mem::offset_of!(Note, kind))?,
        pid: short(std::mem::offset_of!(Note, pid))?,
        ticks: long(std::mem::offset_of!(Note, ticks))?,
        state: short(std::mem::offset_of!(Note, state))?,
        texts: [part(), part()],
    };
    Some((noted, long(std::mem::offset_of!(Note, next))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(notes: u64) -> Header {
        // SAFETY: all fields are numbers, or arrays of them.
        let zeros: Header = unsafe { std::mem::zeroed() };
        Header { notes, ..zeros }
    }

    #[test]
    fn notes_come_in_order_and_a_circle_ends() {
        let mut bytes = vec![0u8; 256];
        let mut put = |at: usize, next: u64, kind: u32, text: &[u8]| {
            bytes[at..at + 8].copy_from_slice(&next.to_le_bytes());
            bytes[at + 16..at + 20].copy_from_slice(&kind.to_le_bytes());
            bytes[at + 28..at + 32].copy_from_slice(&(text.len() as u32).to_le_bytes());
            bytes[at + 32..at + 32 + text.len()].copy_from_slice(text);
        };
        put(64, 0, 1, b"a\0b\0");
        put(128, 64, 2, b"c\0\0");
        let found = read(&bytes, &header(128));
        assert_eq!(found.iter().map(|note| note.kind).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(found[0].texts, ["a", "b"]);
        assert_eq!(read(&bytes, &header(1 << 40)), []);
        bytes[64..72].copy_from_slice(&128u64.to_le_bytes());
        assert_eq!(read(&bytes, &header(128)).len() as u64, MOST_NOTES);
        bytes[128 + 28..128 + 32].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(read(&bytes, &header(128)), [], "a text beyond the end");
    }
}
