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

    /// The library comes into every program, so it brings nothing with it.
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
            let known = name.starts_with("pthread_") || name.starts_with("lockyard_record_");
            assert!(known, "{name}");
            defined += 1;
        }
        assert!(defined >= 27, "{defined}");
    }
}
