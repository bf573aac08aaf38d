//! Names of addresses: functions with source lines for call sites, variables for locks.

use crate::modules::{Modules, Place};
use addr2line::{Loader, demangle_auto};
use cpp_demangle::DemangleOptions;
use object::{Object, ObjectSymbol, SymbolKind};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

/// Parts of the paths of sources that only wrap a lock. The caller's line is of interest instead.
const WRAPPERS: [&str; 6] =
    ["/include/c++/", "/gthr-", "/bits/", "/lock_api-", "/lockyard-recorded/src/", "/rustc/"];

/// A call site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// Return address in the process.
    pub address: u64,
    /// Function, if it is known.
    pub function: Option<String>,
    /// The same without parameters and result.
    pub short: Option<String>,
    /// Path of the source, if it is known.
    pub file: Option<String>,
    /// Line of the source, if it is known.
    pub line: Option<u32>,
    /// Path of the program or library, if the address is in one.
    pub module: Option<String>,
    /// Address as the module counts.
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

/// Returns the name of a function without parameters and result, which can be longer than a line,
/// given its symbol and its whole name. Only names of C++ have them.
fn short(symbol: &str, whole: &str) -> String {
    // Old names of Rust can be read as C++ too, but then differ from the whole name.
    let symbol = cpp_demangle::Symbol::new(symbol.as_bytes()).ok();
    let symbol = symbol.filter(|symbol| symbol.demangle().is_ok_and(|name| name == whole));
    let options = DemangleOptions::new().no_params().no_return_type();
    let short = symbol.and_then(|symbol| symbol.demangle_with_options(&options).ok());
    short.unwrap_or_else(|| whole.to_owned())
}

/// A symbol of a file.
#[derive(Clone, Debug)]
struct Symbol {
    address: u64,
    size: u64,
    name: String,
}

/// Names in a file.
struct Names {
    loader: Option<Loader>,
    functions: Vec<Symbol>,
    variables: Vec<Symbol>,
}

impl Names {
    fn of(path: &str) -> Names {
        let mut names = Names { loader: None, functions: Vec::new(), variables: Vec::new() };
        let Ok(bytes) = fs::read(path) else { return names };
        let Ok(file) = object::File::parse(&*bytes) else { return names };
        names.add(&file);
        names.loader = Loader::new(path).ok();
        // A distribution keeps symbols and lines in a file of their own.
        if let Ok(Some(id)) = file.build_id()
            && let Some(apart) = debug_file(id)
            && let Ok(bytes) = fs::read(&apart)
            && let Ok(file) = object::File::parse(&*bytes)
        {
            names.add(&file);
            names.loader = Loader::new(&apart).ok().or(names.loader.take());
        }
        for symbols in [&mut names.functions, &mut names.variables] {
            symbols.sort_by(|a, b| (a.address, &a.name).cmp(&(b.address, &b.name)));
            symbols.dedup_by_key(|symbol| symbol.address);
        }
        names
    }

    fn add(&mut self, file: &object::File) {
        for symbol in file.symbols().chain(file.dynamic_symbols()) {
            let list = match symbol.kind() {
                SymbolKind::Text => &mut self.functions,
                SymbolKind::Data => &mut self.variables,
                _ => continue,
            };
            let (address, size) = (symbol.address(), symbol.size());
            if let Some(name) = symbol.name().ok().filter(|name| !name.is_empty() && address > 0) {
                list.push(Symbol { address, size, name: name.to_owned() });
            }
        }
    }
}

fn debug_file(id: &[u8]) -> Option<PathBuf> {
    let digits: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let (first, rest) = digits.split_at_checked(2)?;
    let path = PathBuf::from(format!("/usr/lib/debug/.build-id/{first}/{rest}.debug"));
    path.is_file().then_some(path)
}

/// Returns the symbol that contains an address.
fn containing(symbols: &[Symbol], address: u64) -> Option<&Symbol> {
    let after = symbols.partition_point(|symbol| symbol.address <= address);
    let symbol = symbols.get(after.checked_sub(1)?)?;
    (address - symbol.address < symbol.size.max(1)).then_some(symbol)
}

fn readable(name: &str) -> String {
    demangle_auto(Cow::Borrowed(name), None).into_owned()
}

/// Names of the files that processes had mapped, read on first use.
#[derive(Default)]
pub struct Symbols {
    files: HashMap<String, Names>,
}

/// The place of a lock in words, and in numbers.
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
    fn of(&mut self, path: &str) -> &Names {
        self.files.entry(path.to_owned()).or_insert_with_key(|path| Names::of(path))
    }

    /// Names a call site.
    pub fn site(&mut self, modules: &Modules, address: u64) -> Site {
        // The call is before the return address, which may be another line's, or function's.
        let mut site = Site { address, ..Site::default() };
        let Place::Module(module, at) = modules.place(address.saturating_sub(1)) else {
            return site;
        };
        site.module = Some(module.path.clone());
        site.offset = at + 1;
        let names = self.of(&module.path);
        let mut frames = names.loader.as_ref().and_then(|loader| loader.find_frames(at).ok());
        let (mut function, mut is_first) = (None, true);
        // The innermost function comes first. Those that wrap a lock are inlined.
        while let Some(Ok(Some(frame))) = frames.as_mut().map(|frames| frames.next()) {
            let file = frame.location.as_ref().and_then(|location| location.file);
            let is_wrapper = file.is_none_or(|file| WRAPPERS.iter().any(|at| file.contains(at)));
            if is_first || !is_wrapper {
                function = frame.function.or(function);
                site.file = file.map(str::to_owned);
                site.line = frame.location.and_then(|location| location.line);
            }
            is_first = false;
            if !is_wrapper {
                break;
            }
        }
        let names_of = |function: &addr2line::FunctionName<_>| {
            Some((function.raw_name().ok()?.into_owned(), function.demangle().ok()?.into_owned()))
        };
        match (function.as_ref().and_then(names_of), containing(&names.functions, at)) {
            (Some((symbol, name)), _) => site.set_function(&symbol, name),
            (None, Some(symbol)) => site.set_function(&symbol.name, readable(&symbol.name)),
            (None, None) => {}
        }
        site
    }

    /// Names a lock.
    pub fn variable(&mut self, modules: &Modules, address: u64) -> Variable {
        let (module, at) = match modules.place(address) {
            Place::Memory(place) => return Variable { place, ..Variable::default() },
            Place::Module(module, at) => (module, at),
        };
        let symbol = containing(&self.of(&module.path).variables, at);
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
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
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
    fn parameters_and_results_of_cpp_functions_are_left_out() {
        for (symbol, whole, expected) in [
            (
                "_ZN7rocksdb11WriteThread8SetStateEP6Writerh",
                "rocksdb::WriteThread::SetState(Writer*, unsigned char)",
                "rocksdb::WriteThread::SetState",
            ),
            (
                "_ZNK3MapIPFiiEE3getES1_",
                "Map<int (*)(int)>::get(int (*)(int)) const",
                "Map<int (*)(int)>::get",
            ),
            ("_Z3maxIiET_S0_S0_", "int max<int>(int, int)", "max<int>"),
            (
                "_ZN12_GLOBAL__N_13putEi.cold",
                "(anonymous namespace)::put(int) [clone .cold]",
                "(anonymous namespace)::put",
            ),
            (
                "_ZZ3runiENKUliE_clEi",
                "run(int)::{lambda(int)#1}::operator()(int) const",
                "run(int)::{lambda(int)#1}::operator() const",
            ),
            ("_ZN3JobclEv", "Job::operator()()", "Job::operator()"),
            ("_ZN3app3run17h0123456789abcdefE", "app::run", "app::run"),
            ("_RNvCs1234_3app3run", "app::run", "app::run"),
            ("slabs_alloc", "slabs_alloc", "slabs_alloc"),
            ("odd)", "odd)", "odd)"),
        ] {
            assert_eq!(readable(symbol), whole);
            assert_eq!(short(symbol, whole), expected);
        }
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
