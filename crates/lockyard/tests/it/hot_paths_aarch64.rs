//! The compiled hot paths on AArch64, from any Linux with that target's standard library: compared
//! with the committed listings in `listings/aarch64/`, and checked for properties.
//!
//! `LOCKYARD_BLESS=1 cargo test -p lockyard --test it hot_paths_aarch64` rewrites the listings.
//! They are compiled for the baseline processor. There, read-modify-writes are calls of
//! `__aarch64_*`. These functions choose between one instruction and a loop, by the processor that
//! runs them.

use super::hot_paths::{are_committed, assembly, functions, is_the_pinned_toolchain};
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::OnceLock;

const TARGET: &str = "aarch64-unknown-linux-gnu";

/// Returns the listings by function, or `None` on systems that cannot produce them.
fn listings() -> Option<&'static BTreeMap<String, Vec<String>>> {
    static LISTINGS: OnceLock<Result<BTreeMap<String, Vec<String>>, String>> = OnceLock::new();
    let listings = LISTINGS.get_or_init(compile).as_ref();
    listings.map_err(|why| lockyard_testing::skip!("{why}")).ok()
}

fn compile() -> Result<BTreeMap<String, Vec<String>>, String> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return Err("the listings are made on x86-64 Linux".to_owned());
    }
    is_the_pinned_toolchain()?;
    let libraries =
        Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output();
    let libraries = libraries.expect("rustc runs").stdout;
    if !std::path::Path::new(String::from_utf8_lossy(&libraries).trim()).is_dir() {
        return Err(format!("the standard library of {TARGET} is not installed"));
    }
    Ok(functions(&assembly(Some(TARGET), &["-C", "target-cpu=generic"]), "//"))
}

/// Returns the atomic read-modify-writes of a listing: calls, exclusive pairs and instructions of
/// the large system extensions.
fn read_modify_writes(listing: &[String]) -> Vec<&str> {
    let named = |line: &&str| {
        let word = line.split_whitespace().next().unwrap_or_default();
        line.contains("__aarch64_")
            || ["ldxr", "ldaxr", "cas", "swp", "ldadd", "ldset", "ldclr"]
                .iter()
                .any(|start| word.starts_with(start))
    };
    listing.iter().map(|line| line.trim()).filter(named).collect()
}

#[test]
fn hot_paths_match_the_committed_listings() {
    let Some(listings) = listings() else { return };
    are_committed(listings, "aarch64", file!());
}

#[test]
fn a_free_lock_is_taken_by_one_acquire_and_given_back_by_one_release() {
    let Some(listings) = listings() else { return };
    for (name, call) in [
        ("ticket_lock", "__aarch64_ldadd4_acq"),
        ("queued_lock", "__aarch64_cas4_acq"),
        ("test_and_set_lock", "__aarch64_ldset4_acq"),
        ("pv_ticket_lock", "__aarch64_ldadd4_acq"),
        ("pv_queued_lock", "__aarch64_cas4_acq"),
        ("ticket_unlock", "__aarch64_ldadd4_rel"),
        ("queued_unlock", "__aarch64_ldadd4_rel"),
        ("test_and_set_unlock", "__aarch64_ldadd4_rel"),
    ] {
        let listing = &listings[name];
        let end = listing.iter().position(|line| line.trim() == "ret").expect("it returns");
        let calls = read_modify_writes(&listing[..end]);
        assert!(calls.len() == 1 && calls[0].ends_with(call), "{name}: {listing:#?}");
    }
}

/// The release of a count orders earlier accesses before it, and the acquire orders the freeing.
#[test]
fn a_count_is_dropped_with_release() {
    let Some(listings) = listings() else { return };
    for (name, call) in
        [("page_put", "__aarch64_ldadd4_"), ("lockref_put_or_lock", "__aarch64_cas8_")]
    {
        let calls = read_modify_writes(&listings[name]);
        assert!(!calls.is_empty(), "{name}: {:#?}", listings[name]);
        for found in calls {
            assert!(found.contains(call) && found.contains("rel"), "{name}: {found}");
        }
    }
}

#[test]
fn the_harness_counts_read_modify_writes() {
    let assembly = "f:\n\tldar\tw8, [x0] // a load\n\tbl\t__aarch64_cas4_acq\n.LBB0_1:\n\
                    \tldaxr\tw8, [x0]\n\tstlrb\tw8, [x0]\n\tswpal\tw8, w9, [x0]\n\tadd\tw8, w8, #1\n\
                    \tret\n.Lfunc_end0:\n";
    let functions = functions(assembly, "//");
    let found = read_modify_writes(&functions["f"]);
    assert_eq!(found, ["bl __aarch64_cas4_acq", "ldaxr w8, [x0]", "swpal w8, w9, [x0]"]);
    assert!(functions["f"].contains(&"    add w8, w8, #1".to_owned()));
}
