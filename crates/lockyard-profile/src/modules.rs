//! Files that a process had mapped, by its copies of `/proc/self/maps`.

use object::{Object, ObjectSegment};
use std::collections::HashMap;
use std::fs;

/// Maximum size of a file that is read for its names.
const MOST_BYTES: u64 = 4 << 30;

/// A mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mapping {
    from: u64,
    to: u64,
    offset: u64,
    path: String,
}

fn mapping(line: &str) -> Option<Mapping> {
    let mut fields = line.splitn(6, ' ');
    let (from, to) = fields.next()?.split_once('-')?;
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let (from, to) = (number(from)?, number(to)?);
    let offset = number(fields.nth(1)?)?;
    let path = fields.nth(2).unwrap_or_default().trim_start();
    // The name of a file that has been replaced meanwhile.
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    Some(Mapping { from, to, offset, path: path.to_owned() })
}

/// A file at its place in a process.
#[derive(Clone, Debug)]
pub struct Module {
    /// Path of the file.
    pub path: String,
    /// Address in the process minus address in the file.
    pub bias: u64,
    from: u64,
    to: u64,
}

impl Module {
    /// Returns the last part of the path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

/// A place in a process.
#[derive(Clone, Debug)]
pub enum Place<'m> {
    /// In a file, at an address as the file counts.
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
    pub fn of(maps: &[String]) -> Modules {
        let mut extents = HashMap::new();
        let copy = |text: &String| {
            let mappings: Vec<Mapping> = text.lines().filter_map(mapping).collect();
            (modules(&mappings, &mut extents), mappings)
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
        Place::Memory(match found.map(|mapping| mapping.path.as_str()) {
            Some("[heap]") => "heap",
            Some("[stack]") => "stack",
            _ => "memory",
        })
    }
}

/// Addresses of a file's contents: where its first byte is mapped, first and last address.
type Extent = Option<(u64, u64, u64)>;

fn modules(mappings: &[Mapping], extents: &mut HashMap<String, Extent>) -> Vec<Module> {
    let mut modules: Vec<Module> = Vec::new();
    for mapping in mappings.iter().filter(|mapping| mapping.path.starts_with('/')) {
        if let Some(module) = modules.iter_mut().rfind(|module| module.path == mapping.path) {
            module.to = module.to.max(mapping.to);
            continue;
        }
        let extent = *extents.entry(mapping.path.clone()).or_insert_with_key(|path| extent(path));
        let (bias, from, to) = match extent {
            Some((first, least, most)) => {
                let bias = mapping.from.wrapping_sub(mapping.offset).wrapping_sub(first);
                (bias, bias.wrapping_add(least), bias.wrapping_add(most))
            }
            None => (mapping.from.wrapping_sub(mapping.offset), mapping.from, mapping.to),
        };
        modules.push(Module { path: mapping.path.clone(), bias, from, to: to.max(mapping.to) });
    }
    modules
}

fn extent(path: &str) -> Extent {
    let about = fs::metadata(path).ok()?;
    if !about.is_file() || about.len() > MOST_BYTES {
        return None;
    }
    let bytes = fs::read(path).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
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
        let line = "7f0e1a000000-7f0e1a022000 r-xp 00001000 fe:01 1234   /usr/lib/a b.so (deleted)";
        let found = mapping(line).expect("it is a line");
        let (from, to) = (0x7f0e_1a00_0000, 0x7f0e_1a02_2000);
        let path = "/usr/lib/a b.so".to_owned();
        assert_eq!(found, Mapping { from, to, offset: 0x1000, path });
        assert!(mapping("").is_none() && mapping("x-y r 0 0 0").is_none());
        let heap = mapping("1000-2000 rw-p 00000000 00:00 0          [heap]").expect("a line");
        assert_eq!(heap.path, "[heap]");
    }

    #[test]
    fn an_address_is_in_its_module_or_in_memory() {
        let itself = std::env::current_exe().expect("it has a path");
        let text = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
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
