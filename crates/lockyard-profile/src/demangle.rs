//! Names of functions and variables as people write them. Only a name that a compiler has mangled
//! is changed: `m` is a lock in C, and not a C++ type.

use cpp_demangle::DemangleOptions;
use std::fmt::{self, Write};

/// Maximum number of bytes in a name. A short symbol can stand for a name of gigabytes.
const LONGEST: usize = 1 << 16;

/// Prefixes of names that C++ and Rust compilers make, and C compilers do not.
const MANGLED: [&str; 4] = ["_Z", "__Z", "_R", "_GLOBAL__"];

/// A name of limited length.
#[derive(Default)]
struct Name(String);

impl Write for Name {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > LONGEST {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// Returns the name of a C++ symbol.
fn of_cpp(symbol: &str, options: &DemangleOptions) -> Option<String> {
    let symbol = cpp_demangle::Symbol::new(symbol.as_bytes()).ok()?;
    let mut name = Name::default();
    symbol.structured_demangle(&mut name, options).ok()?;
    Some(name.0)
}

/// Returns the name of a Rust symbol.
fn of_rust(symbol: &str) -> Option<String> {
    let found = rustc_demangle::try_demangle(symbol).ok()?;
    let mut name = Name::default();
    write!(name, "{found:#}").ok()?;
    Some(name.0)
}

/// Returns the name of a symbol.
pub(crate) fn readable(symbol: &str) -> String {
    let is_mangled = MANGLED.iter().any(|begin| symbol.starts_with(begin));
    let name =
        is_mangled.then(|| of_rust(symbol).or_else(|| of_cpp(symbol, &DemangleOptions::default())));
    name.flatten().unwrap_or_else(|| symbol.to_owned())
}

/// Returns the name of a function without parameters and result, given its symbol and its full
/// name. Only C++ names have these parts, which can be longer than a line.
pub(crate) fn short(symbol: &str, whole: &str) -> String {
    // Old Rust names can also be read as C++, but then differ from the full name.
    let is_cpp = symbol != whole
        && of_cpp(symbol, &DemangleOptions::default()).is_some_and(|name| name == whole);
    let options = DemangleOptions::new().no_params().no_return_type();
    let short = is_cpp.then(|| of_cpp(symbol, &options)).flatten();
    short.unwrap_or_else(|| whole.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// A demangler that does not check the prefix reads each of these names as a type, or a part of
    /// a name.
    #[test]
    fn a_name_of_c_stays_whatever_its_letters_are() {
        let letters = ('a'..='z').chain('A'..='Z').map(String::from);
        let more = [
            "St",
            "Sa",
            "Ss",
            "Pm",
            "Ri",
            "Kc",
            "i1x",
            "3foo",
            "ZN3foo3barE",
            "RNvC3app3run",
            "_",
            "_m",
            "_R",
            "_Z",
            "__Z",
            "_Rx",
            "_Recv",
            "_Zebra",
            "w.cold",
            "w.part.0",
            "a.isra.0.cold",
            "m.constprop.0",
            "f.llvm.123",
            "N",
            "dl",
            "dLi",
            "Dp",
            "_a_Z1b",
            "z.0",
            "",
        ];
        for name in letters.chain(more.map(str::to_owned)) {
            assert_eq!(readable(&name), name);
            assert_eq!(short(&name, &name), name);
        }
    }

    #[test]
    fn clones_of_mangled_functions_have_names() {
        assert_eq!(readable("_Z3putv.part.0.cold"), "put() [clone .part.0] [clone .cold]");
        assert_eq!(short("_Z3putv.part.0", "put() [clone .part.0]"), "put");
        assert_eq!(readable("_ZN3app3run17h0123456789abcdefE.llvm.123"), "app::run");
        assert_eq!(readable("_RNvCs1234_3app3run.llvm.77"), "app::run");
    }

    #[test]
    fn a_short_symbol_of_an_endless_name_is_shown_as_it_is() {
        // Each argument is the pair of the previous argument.
        let mut symbol = String::from("_Z1fI1AS0_E1P");
        for number in 0..40 {
            let digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
            let last = |number: usize| match number {
                0 => "S_".to_owned(),
                n if n <= 36 => format!("S{}_", &digits[n - 1..n]),
                n => format!("S1{}_", &digits[n - 37..n - 36]),
            };
            symbol.push_str(&format!("FvPFv{0}{0}EE", last(number)));
        }
        assert!(readable(&symbol).len() <= LONGEST);
        assert!(readable(&format!("_Z{}", "P".repeat(1_000_000))).len() <= 1_000_002);
    }
}
