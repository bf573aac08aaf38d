//! Files of programs and libraries, read only where needed. A profiled program chooses the files
//! that it maps, and may change a file while it is read: only regular files are opened, nothing is
//! mapped, and the number of bytes that are read is limited.

use lockyard_support::open_regular;
use object::read::{ReadCache, ReadCacheOps, ReadRef};
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

/// Maximum number of bytes that are read of a file.
pub(crate) const MOST_OF_A_FILE: u64 = 1 << 30;

/// Number of bytes around a name that are read at once, because names are adjacent.
const PART: u64 = 1 << 16;

/// A file that a [`Source`] reads.
struct Handle {
    file: File,
    length: u64,
}

impl ReadCacheOps for Handle {
    fn len(&mut self) -> Result<u64, ()> {
        Ok(self.length)
    }

    fn seek(&mut self, to: u64) -> Result<u64, ()> {
        Seek::seek(&mut self.file, SeekFrom::Start(to)).map_err(drop)
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<usize, ()> {
        Read::read(&mut self.file, bytes).map_err(drop)
    }

    fn read_exact(&mut self, bytes: &mut [u8]) -> Result<(), ()> {
        Read::read_exact(&mut self.file, bytes).map_err(drop)
    }
}

/// A file of a program or library.
pub(crate) struct Image {
    cache: ReadCache<Handle>,
    /// Number of bytes that may still be read.
    left: Cell<u64>,
    /// Offset and size of each range that was read.
    known: RefCell<HashSet<(u64, u64)>>,
    length: u64,
}

impl Image {
    /// Opens a regular file, of which at most `most` bytes will be read.
    pub(crate) fn open(path: &Path, most: u64) -> Option<Image> {
        Image::of(open_regular(path).ok()?, most)
    }

    /// Takes over a regular file that is open.
    pub(crate) fn of(file: File, most: u64) -> Option<Image> {
        let length = file.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
        Some(Image {
            cache: ReadCache::new(Handle { file, length }),
            left: Cell::new(most.min(MOST_OF_A_FILE)),
            known: RefCell::new(HashSet::new()),
            length,
        })
    }

    /// Returns its contents, if it is an object file.
    pub(crate) fn object(&self) -> Option<object::File<'_, Source<'_>>> {
        object::File::parse(self.source()).ok()
    }

    /// Returns the file as a source of bytes, for a reader that takes only the bytes that it needs.
    pub(crate) fn source(&self) -> Source<'_> {
        Source(self)
    }

    /// Subtracts bytes from the number that may be read, unless they were read before.
    fn allow(&self, offset: u64, size: u64) -> Result<(), ()> {
        if self.known.borrow_mut().insert((offset, size)) {
            self.left.set(self.left.get().checked_sub(size).ok_or(())?);
        }
        Ok(())
    }
}

/// Bytes of an [`Image`].
#[derive(Clone, Copy)]
pub(crate) struct Source<'i>(&'i Image);

impl<'i> ReadRef<'i> for Source<'i> {
    fn len(self) -> Result<u64, ()> {
        Ok(self.0.length)
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'i [u8], ()> {
        if offset.checked_add(size).is_none_or(|end| end > self.0.length) {
            return Err(());
        }
        self.0.allow(offset, size)?;
        (&self.0.cache).read_bytes_at(offset, size)
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'i [u8], ()> {
        let from = range.start - range.start % PART;
        let size = PART.min(self.0.length.saturating_sub(from));
        let part = self.read_bytes_at(from, size)?;
        let begin = usize::try_from(range.start - from).map_err(drop)?;
        let most = usize::try_from(range.end.saturating_sub(range.start)).map_err(drop)?;
        let rest = part.get(begin..).ok_or(())?;
        match rest.iter().take(most).position(|&byte| byte == delimiter) {
            Some(length) => Ok(&rest[..length]),
            // The name continues in the next part.
            None => (&self.0.cache).read_bytes_at_until(range, delimiter),
        }
    }
}
