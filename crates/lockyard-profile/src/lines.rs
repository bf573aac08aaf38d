//! Source lines, from the debug information of a file: DWARF, in the file itself, in a separate
//! file (`.debug`), or split (`.dwo`, `.dwp`).
//!
//! `addr2line` has a loader too. But it maps the files, so a program that truncates a file kills
//! the reader, and it opens every path that a file names. Here, sections are read into memory,
//! within the number of bytes that the caller allows.

use crate::image::Image;
use addr2line::gimli::{
    AbbreviationsCacheStrategy, DwarfPackage, DwoId, EndianSlice, Error, RunTimeEndian, SectionId,
    read::Dwarf,
};
use addr2line::{Context, LookupContinuation, LookupResult, SplitDwarfLoad};
use object::{Object, ObjectSection};
use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum depth of inlined functions at an address.
const MOST_FRAMES: usize = 256;

/// Bytes of a section, which live as long as the [`Lines`] that has them.
type Slice = EndianSlice<'static, RunTimeEndian>;

/// A function at an address, and its line there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Function as the compiler names it.
    pub(crate) symbol: Option<String>,
    /// Path of the source.
    pub(crate) file: Option<String>,
    /// Line of the source.
    pub(crate) line: Option<u32>,
}

/// Debug information of a file.
pub(crate) struct Lines {
    // Both borrow from `kept`, and are dropped before it.
    context: Context<Slice>,
    package: Option<DwarfPackage<Slice>>,
    kept: Kept,
}

/// Contents of sections. They are never removed, nor changed.
struct Kept {
    sections: RefCell<Vec<Vec<u8>>>,
    /// Number of bytes that may still be added.
    left: Cell<u64>,
}

impl Kept {
    /// Reads a section. Returns an empty section if there is none, or no room for it.
    fn section(&self, file: &ObjectFile<'_>, name: Option<&str>) -> Slice {
        let endian =
            if file.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
        let bytes = name.and_then(|name| self.contents(file, name)).unwrap_or_default();
        EndianSlice::new(bytes, endian)
    }

    fn contents(&self, file: &ObjectFile<'_>, name: &str) -> Option<&'static [u8]> {
        let section = file.section_by_name(name)?;
        // A small compressed section may claim a large uncompressed size.
        let size = section.compressed_data().ok()?.uncompressed_size;
        self.left.set(self.left.get().checked_sub(size)?);
        let bytes = section.uncompressed_data().ok()?.into_owned();
        // SAFETY: the bytes of a vector stay where they are when the vector is moved. They are
        // neither changed nor freed before this value is dropped, which `Lines` does last.
        let kept = unsafe { std::slice::from_raw_parts(bytes.as_ptr(), bytes.len()) };
        self.sections.borrow_mut().push(bytes);
        Some(kept)
    }
}

/// A file that is read.
type ObjectFile<'i> = object::File<'i, crate::image::Source<'i>>;

impl Lines {
    /// Reads the debug information of a file, at most `most` bytes of it. `path` is the file's.
    pub(crate) fn of(file: &ObjectFile<'_>, path: &Path, most: u64) -> Option<Lines> {
        let kept = Kept { sections: RefCell::new(Vec::new()), left: Cell::new(most) };
        let mut dwarf: Dwarf<Slice> =
            Dwarf::load(|id: SectionId| Ok::<_, Error>(kept.section(file, Some(id.name()))))
                .ok()?;
        // Units that share abbreviations read them only once.
        dwarf.populate_abbreviations_cache(AbbreviationsCacheStrategy::Duplicates);
        let context = Context::from_dwarf(dwarf).ok()?;
        let package = package(&kept, path);
        Some(Lines { context, package, kept })
    }

    /// Returns true if nothing was read.
    pub(crate) fn is_empty(&self) -> bool {
        self.kept.sections.borrow().is_empty()
    }

    /// Returns the number of bytes that were read.
    pub(crate) fn bytes(&self) -> u64 {
        self.kept.sections.borrow().iter().map(|section| section.len() as u64).sum()
    }

    /// Returns the functions at an address, the innermost first.
    pub(crate) fn frames(&self, address: u64) -> Vec<Frame> {
        let mut found = self.context.find_frames(address);
        let frames = loop {
            match found {
                LookupResult::Output(frames) => break frames,
                LookupResult::Load { load, continuation } => {
                    found = continuation.resume(self.split(&load));
                }
            }
        };
        let mut all = Vec::new();
        let Ok(mut frames) = frames else { return all };
        while let (Ok(Some(frame)), true) = (frames.next(), all.len() < MOST_FRAMES) {
            let symbol = frame.function.and_then(|name| Some(name.raw_name().ok()?.into_owned()));
            let place = frame.location;
            let file = place.as_ref().and_then(|place| place.file).map(str::to_owned);
            all.push(Frame { symbol, file, line: place.and_then(|place| place.line) });
        }
        all
    }

    /// Reads the part of a unit that the compiler has put into a separate file.
    fn split(&self, load: &SplitDwarfLoad<Slice>) -> Option<Arc<Dwarf<Slice>>> {
        let packed = self
            .package
            .as_ref()
            .and_then(|package| package.find_cu(load.dwo_id, &load.parent).ok().flatten());
        if let Some(packed) = packed {
            return Some(Arc::new(packed));
        }
        let mut path = PathBuf::new();
        for part in [load.comp_dir, load.path] {
            path.push(std::str::from_utf8(part?.slice()).ok()?);
        }
        let image = Image::open(&path, self.kept.left.get())?;
        let file = image.object()?;
        let mut dwarf: Dwarf<Slice> =
            Dwarf::load(|id: SectionId| Ok::<_, Error>(self.kept.section(&file, id.dwo_name())))
                .ok()?;
        let header = dwarf.units().next().ok()??;
        let id: Option<DwoId> = dwarf.unit(header).ok()?.dwo_id;
        if id != Some(load.dwo_id) {
            return None;
        }
        dwarf.make_dwo(&load.parent);
        Some(Arc::new(dwarf))
    }
}

/// Reads the package of all split parts, which is next to the file.
fn package(kept: &Kept, path: &Path) -> Option<DwarfPackage<Slice>> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".dwp");
    let image = Image::open(Path::new(&beside), kept.left.get())?;
    let file = image.object()?;
    let empty = EndianSlice::new(&[][..], RunTimeEndian::Little);
    DwarfPackage::load(|id: SectionId| Ok::<_, Error>(kept.section(&file, id.dwo_name())), empty)
        .ok()
}
