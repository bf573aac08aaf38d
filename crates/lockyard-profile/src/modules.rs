//! Files that a process had mapped, from its copies of `/proc/self/maps`.
//!
//! By now, the path of a mapping may lead to a device, to another file, or to nothing. A file is
//! used only if it is a regular file with the mapping's inode.

use crate::image::Image;
use lockyard_support::open_regular;
use object::{Object, ObjectSegment};
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Maximum number of bytes that are read from a file to find the addresses of its contents.
const MOST_BYTES: u64 = 16 << 20;

/// Size of a page in bytes.
const PAGE: u64 = 4096;

/// Suffix of the path of a file that was removed or replaced.
const DELETED: &str = " (deleted)";

/// A mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mapping {
    from: u64,
    to: u64,
    offset: u64,
    inode: u64,
    /// Path as the kernel writes it.
    path: Vec<u8>,
}

fn mapping(line: &[u8]) -> Option<Mapping> {
    let mut fields = line.splitn(6, |&byte| byte == b' ');
    let text = |field: Option<&'_ [u8]>| std::str::from_utf8(field?).ok().map(str::to_owned);
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let range = text(fields.next())?;
    let (from, to) = range.split_once('-')?;
    let (from, to) = (number(from)?, number(to)?);
    let offset = number(&text(fields.nth(1))?)?;
    let inode = text(fields.nth(1))?.parse().ok()?;
    let path = fields.next().unwrap_or_default().trim_ascii_start().to_owned();
    Some(Mapping { from, to, offset, inode, path })
}

/// Returns a path as text, without the mark of a file that has been removed.
fn shown(path: &[u8]) -> String {
    let path = String::from_utf8_lossy(path);
    path.strip_suffix(DELETED).unwrap_or(&path).to_owned()
}

/// Returns these bytes as a path.
fn path_of(bytes: &[u8]) -> Option<PathBuf> {
    #[cfg(unix)]
    return Some(PathBuf::from(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(
        bytes,
    )));
    #[cfg(not(unix))]
    std::str::from_utf8(bytes).ok().map(PathBuf::from)
}

/// Returns the path with line ends where the kernel writes `\012`.
fn with_lines(path: &[u8]) -> Vec<u8> {
    const LINE_END: &[u8] = b"\\012";
    let mut found = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&first, after)) = rest.split_first() {
        let after_line_end = rest.strip_prefix(LINE_END);
        found.push(if after_line_end.is_some() { b'\n' } else { first });
        rest = after_line_end.unwrap_or(after);
    }
    found
}

/// Opens a regular file if it has this inode.
fn open_same(path: &Path, inode: u64) -> Option<File> {
    let file = open_regular(path).ok()?;
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::ino(&file.metadata().ok()?) != inode {
        return None;
    }
    let _ = inode;
    Some(file)
}

/// Finds the file of a mapping.
fn find(mapping: &Mapping) -> Option<PathBuf> {
    let candidates = [with_lines(&mapping.path), mapping.path.clone()];
    let mut paths = candidates.iter().filter_map(|path| path_of(path));
    paths.find(|path| open_same(path, mapping.inode).is_some())
}

/// Returns true if a path is the kernel's name for memory without a file, or for a device's memory.
fn is_memory(path: &[u8]) -> bool {
    let begins = |with: &str| path.starts_with(with.as_bytes());
    let is_device = begins("/dev/") && !begins("/dev/shm/") && !begins("/dev/hugepages/");
    !begins("/") || is_device || begins("/SYSV") || begins("/anon_hugepage")
}

/// A file, as mapped in a process.
#[derive(Clone, Debug)]
pub struct Module {
    /// Path of the file, for readers.
    pub path: String,
    /// Inode of the file.
    pub inode: u64,
    /// Address in the process minus address in the file.
    pub bias: u64,
    from: u64,
    to: u64,
    /// Path of the file, if it is still there.
    file: Option<PathBuf>,
}

impl Module {
    /// Returns the last part of the path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Returns the path by which the file was found.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Opens the file, if it is still the one that was mapped.
    pub fn open(&self) -> Option<File> {
        open_same(self.file()?, self.inode)
    }
}

/// A place in a process.
#[derive(Clone, Debug)]
pub enum Place<'m> {
    /// In a file, at one of the file's own addresses.
    Module(&'m Module, u64),
    /// In memory that belongs to no file: `heap`, `stack`, `memory`.
    Memory(&'static str),
}

/// Mappings of a process at several times.
#[derive(Clone, Debug)]
pub struct Modules {
    /// Modules and mappings of each copy, the latest first.
    copies: Vec<(Vec<Module>, Vec<Mapping>)>,
}

impl Modules {
    /// Reads copies of `/proc/self/maps`, the latest first.
    pub fn of(maps: &[Vec<u8>]) -> Modules {
        let mut known = HashMap::new();
        let copy = |text: &Vec<u8>| {
            let lines = text.split(|&byte| byte == b'\n');
            let mappings: Vec<Mapping> = lines.filter_map(mapping).collect();
            (modules(&mappings, &mut known), mappings)
        };
        Modules { copies: maps.iter().map(copy).collect() }
    }

    /// Returns the place of an address.
    pub fn place(&self, address: u64) -> Place<'_> {
        for (modules, _) in &self.copies {
            let found = modules.iter().find(|module| (module.from..module.to).contains(&address));
            if let Some(module) = found {
                return Place::Module(module, address.wrapping_sub(module.bias));
            }
        }
        let mut mappings = self.copies.iter().flat_map(|(_, mappings)| mappings);
        let found = mappings.find(|mapping| (mapping.from..mapping.to).contains(&address));
        let grown = || self.copies.iter().any(|(_, mappings)| is_above_program(mappings, address));
        Place::Memory(match found.map(|mapping| &mapping.path[..]) {
            Some(b"[heap]") => "heap",
            Some(b"[stack]") => "stack",
            None if grown() => "heap",
            _ => "memory",
        })
    }
}

/// Returns true if an address is between the heap (or the program, if there was no heap yet) and
/// the next mapping above. The heap may have grown into this gap after the mappings were copied.
fn is_above_program(mappings: &[Mapping], address: u64) -> bool {
    let heap = mappings.iter().rposition(|mapping| mapping.path == b"[heap]");
    // The program is below all libraries, and its zero-initialised variables are at its end.
    let own = |first: &Mapping| {
        let is_own = |mapping: &Mapping| mapping.path == first.path && mapping.inode != 0;
        mappings.iter().rposition(is_own)
    };
    let Some(index) = heap.or_else(|| mappings.first().and_then(own)) else { return false };
    let next = mappings.get(index + 1).map_or(u64::MAX, |mapping| mapping.from);
    let room = mappings[index].to..next;
    // Without a heap, a mapping without a file right above the program has the program's variables.
    let room = match mappings.get(index + 1) {
        Some(own) if heap.is_none() && own.inode == 0 && own.from == room.start => {
            own.to..mappings.get(index + 2).map_or(u64::MAX, |mapping| mapping.from)
        }
        _ => room,
    };
    // Separate mappings are allocated downwards from the mapping above.
    room.contains(&address) && address - room.start < room.end - address
}

/// Addresses of a file's contents: where its first byte is mapped, first and last address.
type Extent = (u64, u64, u64);

/// Path and extent of the files that were looked at.
type Known<'m> = HashMap<(Vec<u8>, u64), (Option<PathBuf>, Option<Extent>)>;

fn modules(mappings: &[Mapping], known: &mut Known) -> Vec<Module> {
    // The last module of each file: its mappings come one after another.
    let mut last: HashMap<(&[u8], u64), usize> = HashMap::new();
    let mut modules: Vec<Module> = Vec::new();
    for mapping in mappings.iter().filter(|mapping| !is_memory(&mapping.path)) {
        let key = (&mapping.path[..], mapping.inode);
        let (file, extent) = known
            .entry((mapping.path.clone(), mapping.inode))
            .or_insert_with(|| {
                let file = find(mapping);
                let extent = file.as_deref().and_then(|path| extent(path, mapping.inode));
                (file, extent)
            })
            .clone();
        // A library may be loaded twice, and data may be mapped many times: these count as separate
        // modules.
        let goes_on = |module: &Module| match extent {
            Some(_) => mapping.from < module.to,
            None => mapping.from == module.to,
        };
        let before = last.get(&key).and_then(|index| modules.get_mut(*index));
        if let Some(module) = before.filter(|module| goes_on(module)) {
            module.to = module.to.max(mapping.to);
            continue;
        }
        let start = mapping.from.wrapping_sub(mapping.offset);
        let (bias, from, to) = match extent {
            Some((first, least, most)) => {
                let bias = start.wrapping_sub(first);
                let end = bias.wrapping_add(most).checked_next_multiple_of(PAGE);
                (bias, bias.wrapping_add(least), end.unwrap_or(u64::MAX))
            }
            None => (start, mapping.from, mapping.to),
        };
        last.insert(key, modules.len());
        modules.push(Module {
            path: shown(&mapping.path),
            inode: mapping.inode,
            bias,
            from,
            to: to.max(mapping.to),
            file,
        });
    }
    modules
}

fn extent(path: &Path, inode: u64) -> Option<Extent> {
    let image = Image::of(open_same(path, inode)?, MOST_BYTES)?;
    let file = image.object()?;
    let segments: Vec<(u64, u64, u64)> = file
        .segments()
        .map(|segment| (segment.address(), segment.size(), segment.file_range().0))
        .collect();
    let first = segments.iter().map(|(address, _, offset)| address.wrapping_sub(*offset)).next()?;
    let least = segments.iter().map(|(address, ..)| *address).min()?;
    let most = segments.iter().map(|(address, size, _)| address.saturating_add(*size)).max()?;
    Some((first, least, most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_addresses_and_a_path() {
        let line =
            b"7f0e1a000000-7f0e1a022000 r-xp 00001000 fe:01 1234   /usr/lib/a b.so (deleted)";
        let found = mapping(line).expect("it is a line");
        let (from, to) = (0x7f0e_1a00_0000, 0x7f0e_1a02_2000);
        let path = b"/usr/lib/a b.so (deleted)".to_vec();
        assert_eq!(found, Mapping { from, to, offset: 0x1000, inode: 1234, path });
        assert_eq!(shown(&found.path), "/usr/lib/a b.so");
        assert!(mapping(b"").is_none() && mapping(b"x-y r 0 0 0").is_none());
        let heap = mapping(b"1000-2000 rw-p 00000000 00:00 0          [heap]").expect("a line");
        assert_eq!(heap.path, b"[heap]");
        assert!(is_memory(&heap.path) && is_memory(b"") && is_memory(b"/dev/zero (deleted)"));
        assert!(is_memory(b"/dev/dri/card0") && is_memory(b"/SYSV00000000 (deleted)"));
        assert!(!is_memory(&found.path) && !is_memory(b"/dev/shm/a") && !is_memory(b"/memfd:a"));
        assert_eq!(with_lines(b"/a\\012b\\01"), b"/a\nb\\01");
    }

    #[test]
    fn the_heap_may_have_grown_since_the_copy() {
        let library = "7000-8000 rw-p 0 00:00 9 /lib\n";
        let own = "1000-2000 r-xp 0 00:00 7 /own\n2000-3000 rw-p 0 00:00 0\n";
        for heap in ["", "4000-5000 rw-p 0 00:00 0 [heap]\n"] {
            let modules = Modules::of(&[format!("{own}{heap}{library}").into_bytes()]);
            let place = |address| match modules.place(address) {
                Place::Memory(place) => place,
                Place::Module(..) => "module",
            };
            assert_eq!([0x4800, 0x6800, 0x9000].map(place), ["heap", "memory", "memory"]);
            assert_eq!(place(0x2800), "memory");
        }
    }

    #[test]
    fn an_address_is_in_its_module_or_in_memory() {
        let itself = std::env::current_exe().expect("it has a path");
        let text = std::fs::read("/proc/self/maps").unwrap_or_default();
        if text.is_empty() {
            return;
        }
        let modules = Modules::of(&[text]);
        let function = an_address_is_in_its_module_or_in_memory as *const () as u64;
        let Place::Module(module, _) = modules.place(function) else { panic!("it is in a file") };
        assert_eq!(module.path, itself.to_string_lossy());
        assert!(matches!(modules.place(8), Place::Memory("memory")));
    }
}
