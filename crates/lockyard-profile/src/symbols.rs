//! Names of addresses: functions with source lines for call sites, variables for locks.

use crate::demangle::{readable, short};
use crate::image::{Image, MOST_OF_A_FILE, Source};
use crate::lines::Lines;
use crate::modules::{Module, Modules, Place};
use object::{Object, ObjectSymbol, SymbolKind};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Maximum number of bytes of debug information to keep, for all files together.
const MOST_LINES: u64 = 2 << 30;

/// Parts of the paths of sources that only wrap a lock. Then the caller's line is shown instead.
const WRAPPERS: [&str; 6] =
    ["/include/c++/", "/gthr-", "/bits/", "/lock_api-", "/lockyard-recorded/src/", "/rustc/"];

/// A call site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// Return address in the process.
    pub address: u64,
    /// Function, if it is known.
    pub function: Option<String>,
    /// The function without parameters and result.
    pub short: Option<String>,
    /// Path of the source, if it is known.
    pub file: Option<String>,
    /// Line of the source, if it is known.
    pub line: Option<u32>,
    /// Path of the program or library, if the address is in one.
    pub module: Option<String>,
    /// Address within the module.
    pub offset: u64,
}

impl Site {
    /// Returns the site in a few words.
    pub fn text(&self) -> String {
        let base = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
        let module = self.module.as_deref().map(base);
        let at = match (&self.file, self.line, &module) {
            (Some(file), Some(line), _) => format!("{}:{line}", base(file)),
            (_, _, Some(module)) => format!("{module}+{:#x}", self.offset),
            _ => format!("{:#x}", self.address),
        };
        match &self.short {
            Some(function) => format!("{function} ({at})"),
            None => at,
        }
    }

    /// Sets the function, given its symbol and its name.
    fn set_function(&mut self, symbol: &str, name: String) {
        self.short = Some(short(symbol, &name));
        self.function = Some(name);
    }
}

/// A symbol of a file.
#[derive(Clone, Debug)]
struct Symbol {
    address: u64,
    size: u64,
    name: String,
}

/// Names in a file.
#[derive(Default)]
struct Names {
    lines: Option<Lines>,
    functions: Vec<Symbol>,
    variables: Vec<Symbol>,
}

impl Names {
    /// Reads the names of a module, and at most `most` bytes of debug information.
    fn of(module: &Module, most: u64) -> Names {
        let mut names = Names::default();
        let image = module.open().and_then(|file| Image::of(file, MOST_OF_A_FILE));
        let Some((image, path)) = image.as_ref().zip(module.file()) else { return names };
        let Some(file) = image.object() else { return names };
        names.add(&file);
        names.lines = Lines::of(&file, path, most);
        // A distribution keeps symbols and lines in a separate file.
        if let Ok(Some(id)) = file.build_id()
            && let Some(path) = debug_file(id)
            && let Some(image) = Image::open(&path, MOST_OF_A_FILE)
            && let Some(file) = image.object()
        {
            names.add(&file);
            let apart = Lines::of(&file, &path, most).filter(|lines| !lines.is_empty());
            names.lines = apart.or(names.lines.take());
        }
        for symbols in [&mut names.functions, &mut names.variables] {
            symbols.sort_by(|a, b| (a.address, &a.name).cmp(&(b.address, &b.name)));
            symbols.dedup_by_key(|symbol| symbol.address);
        }
        names
    }

    fn add<'i>(&mut self, file: &object::File<'i, Source<'i>>) {
        for symbol in file.symbols().chain(file.dynamic_symbols()) {
            let list = match symbol.kind() {
                SymbolKind::Text => &mut self.functions,
                SymbolKind::Data => &mut self.variables,
                _ => continue,
            };
            let (address, size) = (symbol.address(), symbol.size());
            if address == 0 {
                continue;
            }
            if let Some(name) = symbol.name().ok().filter(|name| !name.is_empty()) {
                list.push(Symbol { address, size, name: name.to_owned() });
            }
        }
    }
}

fn debug_file(id: &[u8]) -> Option<PathBuf> {
    let digits: String = id.iter().take(64).map(|byte| format!("{byte:02x}")).collect();
    let (first, rest) = digits.split_at_checked(2)?;
    Some(Path::new("/usr/lib/debug/.build-id").join(first).join(format!("{rest}.debug")))
}

/// Returns the symbol that contains an address.
fn containing(symbols: &[Symbol], address: u64) -> Option<&Symbol> {
    let after = symbols.partition_point(|symbol| symbol.address <= address);
    let symbol = symbols.get(after.checked_sub(1)?)?;
    (address - symbol.address < symbol.size.max(1)).then_some(symbol)
}

/// Names of the files that processes had mapped, read on first use.
pub struct Symbols {
    /// Names by the path in the mappings, and the inode of the file.
    files: HashMap<(String, u64), Names>,
    /// Number of bytes of debug information that may still be read.
    left: u64,
}

impl Default for Symbols {
    fn default() -> Symbols {
        Symbols { files: HashMap::new(), left: MOST_LINES }
    }
}

/// The location of a lock, in words and in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variable {
    /// Name of the variable, with an offset if the lock is not at its beginning.
    pub name: Option<String>,
    /// Size of the variable in bytes.
    pub size: Option<u64>,
    /// Path of the program or library whose data it is.
    pub module: Option<String>,
    /// `data`, `heap`, `stack` or `memory`.
    pub place: &'static str,
}

impl Symbols {
    fn of(&mut self, module: &Module) -> &Names {
        let left = &mut self.left;
        self.files.entry((module.path.clone(), module.inode)).or_insert_with(|| {
            let names = Names::of(module, *left);
            *left = left.saturating_sub(names.lines.as_ref().map_or(0, Lines::bytes));
            names
        })
    }

    /// Names a call site.
    pub fn site(&mut self, modules: &Modules, address: u64) -> Site {
        // The call is before the return address, which may belong to another line or function.
        let mut site = Site { address, ..Site::default() };
        let Place::Module(module, at) = modules.place(address.saturating_sub(1)) else {
            return site;
        };
        site.module = Some(module.path.clone());
        site.offset = at + 1;
        let names = self.of(module);
        let frames = names.lines.as_ref().map(|lines| lines.frames(at)).unwrap_or_default();
        let (mut function, mut is_first) = (None, true);
        // The innermost function comes first. Functions that wrap a lock are inlined.
        for frame in frames {
            let file = frame.file.as_deref();
            let is_wrapper = file.is_none_or(|file| WRAPPERS.iter().any(|at| file.contains(at)));
            if is_first || !is_wrapper {
                function = frame.symbol.or(function);
                site.line = frame.line;
                site.file = frame.file;
            }
            is_first = false;
            if !is_wrapper {
                break;
            }
        }
        let known = containing(&names.functions, at).map(|symbol| &symbol.name);
        if let Some(symbol) = function.as_ref().or(known) {
            site.set_function(symbol, readable(symbol));
        }
        site
    }

    /// Names a lock.
    pub fn variable(&mut self, modules: &Modules, address: u64) -> Variable {
        let (module, at) = match modules.place(address) {
            Place::Memory(place) => return Variable { place, ..Variable::default() },
            Place::Module(module, at) => (module, at),
        };
        let symbol = containing(&self.of(module).variables, at);
        let name = symbol.map(|symbol| match at - symbol.address {
            0 => readable(&symbol.name),
            offset => format!("{}+{offset}", readable(&symbol.name)),
        });
        Variable {
            name: name.or_else(|| Some(format!("{}+{at:#x}", module.name()))),
            size: symbol.map(|symbol| symbol.size),
            module: Some(module.path.clone()),
            place: "data",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static HERE: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(7);

    #[test]
    fn own_functions_and_variables_have_names() {
        let maps = std::fs::read("/proc/self/maps").unwrap_or_default();
        if maps.is_empty() {
            return;
        }
        let modules = Modules::of(&[maps]);
        let mut symbols = Symbols::default();
        let function = own_functions_and_variables_have_names as *const () as u64;
        let site = symbols.site(&modules, function + 4);
        let name = site.function.clone().expect("it has symbols");
        assert!(name.contains("own_functions_and_variables_have_names"), "{site:?}");
        assert!(site.file.as_deref().is_some_and(|file| file.ends_with("symbols.rs")), "{site:?}");
        let variable = symbols.variable(&modules, HERE.as_ptr() as u64);
        assert!(variable.name.as_deref().is_some_and(|name| name.contains("HERE")), "{variable:?}");
        assert_eq!(variable.place, "data");
    }

    #[test]
    fn a_site_is_named_by_what_is_known() {
        let mut site = Site { address: 0x1234, ..Site::default() };
        assert_eq!(site.text(), "0x1234");
        site.module = Some("/usr/bin/app".to_owned());
        site.offset = 0x20;
        assert_eq!(site.text(), "app+0x20");
        site.set_function("work", "work".to_owned());
        assert_eq!(site.text(), "work (app+0x20)");
        site.file = Some("/src/app.c".to_owned());
        site.line = Some(7);
        assert_eq!(site.text(), "work (app.c:7)");
    }
}
