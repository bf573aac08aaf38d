//! The preload library, carried inside the command.

/// Environment variable with the path of another copy of the library.
pub const OVERRIDE: &str = "LOCKYARD_PRELOAD";

/// Returns the library, or `None` on systems that it does not support.
pub fn library() -> Option<&'static [u8]> {
    #[cfg(has_preload)]
    return Some(include_bytes!(concat!(env!("OUT_DIR"), "/liblockyard_preload.so")));
    #[cfg(not(has_preload))]
    None
}

#[cfg(test)]
mod tests {
    use object::{Object, ObjectSymbol};

    /// The library is loaded into every program, so it must not load other libraries.
    #[test]
    fn the_library_needs_the_c_library_only_and_defines_no_more_than_it_records() {
        let Some(bytes) = super::library() else { return };
        let file = object::File::parse(bytes).expect("it is a library");
        let needed = |name: &str| bytes.windows(name.len()).any(|at| at == name.as_bytes());
        assert!(needed("libc.so.6") && !needed("libgcc_s"), "what it needs");
        let here = env!("CARGO_MANIFEST_DIR").as_bytes();
        let here = &here[..here.len() - "lockyard-profile".len()];
        assert!(!bytes.windows(here.len()).any(|at| at == here), "where it was built");
        let mut defined = 0;
        for symbol in file.dynamic_symbols().filter(|symbol| !symbol.is_undefined()) {
            let name = symbol.name().expect("it is text");
            let known =
                ["pthread_", "lockyard_record_", "exec", "posix_spawn", "sem_", "mtx_", "dl"];
            let is_known = known.iter().any(|begin| name.starts_with(begin));
            // Each version is a symbol too.
            let is_version = name.starts_with("GLIBC_") || name == "LOCKYARD";
            let others =
                ["fexecve", "sched_yield", "thrd_yield", "nanosleep", "clock_nanosleep", "usleep"];
            assert!(is_known || is_version || others.contains(&name), "{name}");
            defined += usize::from(!is_version);
        }
        assert!(defined >= 27, "{defined}");
    }

    /// Calls of a version that is missing in the table bypass the recorder.
    #[test]
    fn the_library_has_each_version_that_this_c_library_has() {
        use object::read::elf::{ElfFile64, FileHeader};
        type File<'d> = ElfFile64<'d, object::Endianness>;
        fn versions(bytes: &[u8]) -> std::collections::BTreeSet<(String, String)> {
            let file = File::parse(bytes).expect("it is a library");
            let (endian, sections) = (file.endian(), file.elf_section_table());
            let header = file.elf_header();
            assert!(header.endian().is_ok());
            let symbols =
                sections.symbols(endian, bytes, object::elf::SHT_DYNSYM).expect("it has symbols");
            let versions =
                sections.versions(endian, bytes).expect("they are right").expect("there are some");
            let mut found = std::collections::BTreeSet::new();
            for (index, symbol) in symbols.enumerate() {
                let of = versions.version_index(endian, index);
                let version = versions.version(of.into()).ok().flatten();
                let name = symbols.symbol_name(endian, symbol).expect("it is text");
                use object::read::elf::Sym;
                if let Some(version) = version.filter(|_| !symbol.is_undefined(endian)) {
                    let [name, version] = [name, version.name()].map(String::from_utf8_lossy);
                    found.insert((name.into_owned(), version.into_owned()));
                }
            }
            found
        }
        let Some(bytes) = super::library() else { return };
        let ours = versions(bytes);
        let maps = std::fs::read_to_string("/proc/self/maps").expect("Linux has it");
        let path = maps.split_whitespace().find(|word| word.ends_with("/libc.so.6"));
        let theirs = versions(&std::fs::read(path.expect("it is loaded")).expect("it is there"));
        let names: std::collections::BTreeSet<&String> =
            ours.iter().map(|(name, _)| name).collect();
        let missing: Vec<_> =
            theirs.iter().filter(|of| names.contains(&of.0) && !ours.contains(of)).collect();
        assert!(missing.is_empty(), "{missing:?}");
        let waits: Vec<_> = ours.iter().filter(|(name, _)| name == "pthread_cond_wait").collect();
        assert_eq!(waits.len(), 2, "{waits:?}");
    }
}
