//! The compiled hot paths: the functions of `examples/hot_paths.rs`, in release mode. They are
//! compared with the committed listings in `listings/x86_64/`, and checked for properties that
//! every listing must have.
//!
//! `LOCKYARD_BLESS=1 cargo test -p lockyard --test it hot_paths` rewrites the listings. They are
//! exact for the toolchain of `rust-toolchain.toml` on x86-64. On other systems this test reports
//! that it skipped them.

use lockyard::kind::Kind;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const CRATE: &str = env!("CARGO_MANIFEST_DIR");

/// Returns the listings by function, or `None` on systems that cannot produce them.
fn listings() -> Option<&'static BTreeMap<String, Vec<String>>> {
    static LISTINGS: OnceLock<Result<BTreeMap<String, Vec<String>>, String>> = OnceLock::new();
    let listings = LISTINGS.get_or_init(compile).as_ref();
    listings.map_err(|why| lockyard_testing::skip!("{why}")).ok()
}

/// Compiles the example and splits its assembly into functions.
fn compile() -> Result<BTreeMap<String, Vec<String>>, String> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return Err("the listings are of x86-64 Linux".to_owned());
    }
    is_the_pinned_toolchain()?;
    let flags = ["-C", "llvm-args=-x86-asm-syntax=intel", "-C", "target-cpu=x86-64"];
    Ok(functions(&assembly(None, &flags), "#"))
}

/// Returns an error unless `rustc` is the compiler of `rust-toolchain.toml`.
pub(super) fn is_the_pinned_toolchain() -> Result<(), String> {
    let toolchain = std::fs::read_to_string(Path::new(CRATE).join("../../rust-toolchain.toml"));
    let toolchain = toolchain.expect("it is committed");
    let version = Command::new("rustc").arg("--version").output().expect("rustc runs");
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let number = version.split(' ').nth(1).unwrap_or_default();
    if number.is_empty() || !toolchain.contains(&format!("\"{number}\"")) {
        let version = version.trim();
        return Err(format!(
            "the listings are of the toolchain in rust-toolchain.toml, not {version}"
        ));
    }
    Ok(())
}

/// Returns the assembly of the example, for this system or for `target`.
pub(super) fn assembly(target: Option<&str>, flags: &[&str]) -> String {
    let mut folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("hot-paths");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["rustc", "--offline", "--locked", "--release", "-p", "lockyard"]);
    cargo.args(["--example", "hot_paths"]);
    if let Some(target) = target {
        // The development dependencies are also built for that target, but appear in no listing.
        cargo.args(["--target", target, "--config", "profile.release.package.\"*\".opt-level=0"]);
    }
    let output = cargo
        .args(["--", "--emit", "asm"])
        .args(flags)
        .current_dir(Path::new(CRATE).join("../.."))
        .env("CARGO_TARGET_DIR", &folder)
        .env("CARGO_PROFILE_RELEASE_DEBUG", "0")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1")
        // Only the assembly is wanted, and a linker for the other target need not be here.
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "true")
        .env_remove("RUSTFLAGS")
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder.extend(target);
    let assembly = std::fs::read_dir(folder.join("release/examples"))
        .expect("cargo made it")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "s"))
        .max_by_key(|path| path.metadata().and_then(|m| m.modified()).ok())
        .expect("the assembly was asked for");
    std::fs::read_to_string(assembly).expect("it is there")
}

/// Returns the instructions of each function whose name is not mangled. Directives are omitted,
/// labels are numbered in order of appearance, and hashes are cut off. `comment` begins a comment.
pub(super) fn functions(assembly: &str, comment: &str) -> BTreeMap<String, Vec<String>> {
    let mut functions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut current: Option<String> = None;
    let mut labels: Vec<String> = Vec::new();
    let mut aliases: Vec<(String, String)> = Vec::new();
    for line in assembly.lines() {
        let line = line.split(comment).next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        if let Some(label) = line.strip_suffix(':') {
            if label.starts_with(".Lfunc_end") {
                current = None;
            } else if label.starts_with(".L") {
                if let Some(function) = current.as_ref().and_then(|name| functions.get_mut(name)) {
                    function.push(format!("{}:", numbered(label, &mut labels)));
                }
            } else {
                labels.clear();
                let mangled = label.starts_with('_');
                current = (!mangled).then(|| label.to_owned());
                if let Some(name) = &current {
                    functions.insert(name.clone(), Vec::new());
                }
            }
            continue;
        }
        // The compiler merges functions with the same instructions. The other names are aliases of
        // the first.
        if let Some((name, same)) = line.split_once(" = ") {
            aliases.push((name.to_owned(), same.to_owned()));
            continue;
        }
        if line.starts_with('.') {
            continue;
        }
        if let Some(function) = current.as_ref().and_then(|name| functions.get_mut(name)) {
            let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            for word in &mut words {
                if word.starts_with(".L") {
                    *word = numbered(word, &mut labels);
                }
                if let Some(at) = word.find("17h") {
                    word.truncate(at);
                }
            }
            function.push(format!("    {}", words.join(" ")));
        }
    }
    for (name, same) in aliases {
        if let Some(listing) = functions.get(&same).cloned() {
            functions.insert(name, listing);
        }
    }
    functions
}

fn numbered(label: &str, labels: &mut Vec<String>) -> String {
    let index = labels.iter().position(|known| known == label).unwrap_or_else(|| {
        labels.push(label.to_owned());
        labels.len() - 1
    });
    format!(".{index}")
}

/// Counts instructions that lock the bus or exchange with memory.
fn locked(listing: &[String]) -> usize {
    let is_locked = |line: &&String| {
        line.trim().starts_with("lock ")
            || line.trim().starts_with("xchg ") && line.contains('[')
            || line.trim().starts_with("mfence")
    };
    listing.iter().filter(is_locked).count()
}

/// Returns the listing up to its first return.
fn to_return(listing: &[String]) -> &[String] {
    let end = listing.iter().position(|line| line.trim() == "ret").expect("it returns");
    &listing[..=end]
}

/// The functions whose listings are committed.
pub(super) const LISTED: &[&str] = &[
    "ticket_lock",
    "ticket_unlock",
    "ticket_try_lock",
    "ticket_guard",
    "ticket8_lock",
    "ticket8_unlock",
    "queued_lock",
    "queued_try_lock",
    "queued_unlock",
    "queued_portable_unlock",
    "queued_guard",
    "pv_ticket_lock",
    "pv_ticket_unlock",
    "pv_queued_lock",
    "pv_queued_unlock",
    "test_and_set_lock",
    "test_and_set_unlock",
    "chosen_lock",
    "chosen_unlock",
    "call_inlined",
    "call_direct",
    "call_indirect",
    "lockref_get",
    "lockref_get_not_dead",
    "lockref_put_return",
    "lockref_put_not_zero",
    "lockref_put_or_lock",
    "page_get",
    "page_get_not_zero_cmpxchg",
    "page_get_not_zero_optimistic",
    "page_get_not_zero_locked_bit",
    "page_put",
    "page_put_locked_bit",
];

#[test]
fn hot_paths_match_the_committed_listings() {
    let Some(listings) = listings() else { return };
    are_committed(listings, "x86_64", file!());
}

/// Compares the listings with those of `folder`, or writes them there.
pub(super) fn are_committed(
    listings: &BTreeMap<String, Vec<String>>,
    folder: &str,
    written_by: &str,
) {
    let directory = Path::new(CRATE).join("listings").join(folder);
    let bless = std::env::var_os("LOCKYARD_BLESS").is_some();
    for name in LISTED {
        let listing = listings[*name].join("\n") + "\n";
        let path = directory.join(format!("{name}.s"));
        if bless {
            std::fs::create_dir_all(&directory).expect("the folder can be made");
            std::fs::write(&path, &listing).expect("the listing can be written");
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        let other = first_difference(&committed, &listing);
        assert!(
            other.is_none(),
            "{name} is not what {} says: {}\nIt is now:\n{listing}\
             If that is as good, write the listings anew: see the beginning of {written_by}",
            path.display(),
            other.unwrap_or_default(),
        );
    }
}

/// Describes the first difference between two listings.
fn first_difference(committed: &str, now: &str) -> Option<String> {
    let (mut committed, mut now) = (committed.lines(), now.lines());
    (1..)
        .map_while(|number| match (committed.next(), now.next()) {
            (None, None) => None,
            (was, is) if was == is => Some(None),
            (was, is) => {
                let text = |line: Option<&str>| line.map_or("the end", str::trim).to_owned();
                Some(Some(format!("line {number} is `{}`, was `{}`", text(is), text(was))))
            }
        })
        .flatten()
        .next()
}

#[test]
fn an_uncontended_ticket_lock_is_one_locked_instruction_and_its_unlock_a_plain_store() {
    let Some(listings) = listings() else { return };
    let lock = &listings["ticket_lock"];
    assert_eq!(locked(lock), 1, "{lock:#?}");
    assert!(to_return(lock).iter().any(|line| line.contains("lock xadd dword ptr")), "{lock:#?}");
    assert_eq!(to_return(lock).len(), 7, "up to the return: {lock:#?}");
    let unlock = &listings["ticket_unlock"];
    assert_eq!(locked(unlock), 0, "{unlock:#?}");
    assert_eq!(unlock.len(), 3, "an increment, a store, a return: {unlock:#?}");
    assert!(unlock[1].contains("mov word ptr [rdi], "), "{unlock:#?}");
    // The same functions through `lock_api`'s guard.
    let guard = &listings["ticket_guard"];
    assert_eq!(locked(guard), 1);
    assert!(guard.iter().any(|line| line.contains("mov word ptr [rdi], ")), "{guard:#?}");
}

#[test]
fn the_ticket_lock_of_two_bytes_is_the_same_in_smaller_parts() {
    let Some(listings) = listings() else { return };
    let lock = &listings["ticket8_lock"];
    assert_eq!(locked(lock), 1, "{lock:#?}");
    assert!(to_return(lock).iter().any(|line| line.contains("lock xadd word ptr")), "{lock:#?}");
    let unlock = &listings["ticket8_unlock"];
    assert_eq!(locked(unlock), 0, "{unlock:#?}");
    assert!(unlock.iter().any(|line| line.contains("mov byte ptr [rdi], ")), "{unlock:#?}");
}

#[test]
fn an_uncontended_queued_lock_is_one_compare_exchange_and_its_unlock_a_plain_store() {
    let Some(listings) = listings() else { return };
    let lock = &listings["queued_lock"];
    assert_eq!(locked(lock), 1, "{lock:#?}");
    let exchange = |line: &String| line.contains("lock cmpxchg dword ptr [rdi]");
    assert!(to_return(lock).iter().any(exchange), "{lock:#?}");
    let unlock = &listings["queued_unlock"];
    assert_eq!(locked(unlock), 0, "{unlock:#?}");
    let stores = unlock.iter().filter(|line| line.contains("mov byte ptr [rdi], "));
    assert_eq!(stores.count(), 1, "{unlock:#?}");
    let guard = &listings["queued_guard"];
    assert_eq!(locked(guard), 1, "{guard:#?}");
    assert!(guard.iter().any(|line| line.contains("mov byte ptr [rdi], ")), "{guard:#?}");
    // Without operations on parts of a word, the unlock is a locked instruction.
    let portable = &listings["queued_portable_unlock"];
    assert_eq!(locked(portable), 1, "{portable:#?}");
    // The policy of the queue's head makes no difference to the acquisition of a free lock.
    let other = &listings["queued_cmpxchg_grab_lock"];
    assert_eq!(without_names(other), without_names(lock));
}

/// The price of parking is a locked unlock. Without parking, the unlock is the same as the plain
/// lock's.
#[test]
fn an_uncontended_lock_that_parks_is_one_locked_instruction_and_so_is_its_unlock() {
    let Some(listings) = listings() else { return };
    for (name, instruction) in [
        ("pv_ticket_lock", "lock xadd dword ptr [rdi]"),
        ("pv_ticket_unlock", "lock xadd dword ptr [rdi]"),
        ("pv_queued_lock", "lock cmpxchg dword ptr [rdi]"),
        ("pv_queued_unlock", "lock xadd dword ptr [rdi]"),
    ] {
        let listing = &listings[name];
        assert_eq!(locked(listing), 1, "{name}: {listing:#?}");
        assert!(listing.iter().any(|line| line.contains(instruction)), "{name}: {listing:#?}");
    }
    for name in ["ticket", "queued"] {
        let spins = &listings[&format!("pv_{name}_spins_unlock")];
        assert_eq!(spins, &listings[&format!("{name}_unlock")], "{name}");
    }
}

#[test]
fn an_uncontended_test_and_set_lock_is_one_locked_instruction_and_its_unlock_a_plain_store() {
    let Some(listings) = listings() else { return };
    assert_eq!(locked(&listings["test_and_set_lock"]), 1);
    let unlock = &listings["test_and_set_unlock"];
    assert_eq!(locked(unlock), 0);
    assert!(unlock.iter().any(|line| line.contains("mov byte ptr [rdi], ")), "{unlock:#?}");
}

#[test]
fn a_lock_of_a_chosen_kind_costs_a_load_and_a_jump_more() {
    let Some(listings) = listings() else { return };
    let lock = &listings["chosen_lock"];
    // One release for each kind, of which one is executed. The choice is only read.
    for instruction in
        ["lock xadd dword ptr [rdi]", "lock cmpxchg dword ptr [rdi]", "lock bts dword ptr"]
    {
        assert!(lock.iter().any(|line| line.contains(instruction)), "{instruction}: {lock:#?}");
    }
    assert_eq!(locked(lock), Kind::ALL.len(), "{lock:#?}");
    let reads = lock.iter().filter(|line| line.contains("CHOSEN"));
    let (loads, others): (Vec<_>, Vec<_>) = reads.partition(|line| line.contains("dword ptr [rip"));
    assert_eq!(loads.len(), 1, "{lock:#?}");
    // These lines handle a choice that is still open, which is off the hot path.
    assert!(others.iter().all(|line| line.trim().starts_with("lea")), "{lock:#?}");
    // Only locks that park are released by a read-modify-write.
    let park = Kind::ALL.iter().filter(|kind| kind.name().starts_with("pv-")).count();
    let unlock = &listings["chosen_unlock"];
    assert_eq!(locked(unlock), park, "{unlock:#?}");
}

/// The loop that `lockyard lock-call-path` measures, from the label to the jump back to it.
#[test]
fn the_ways_to_call_a_lock_differ_in_their_calls() {
    let Some(listings) = listings() else { return };
    let calls = |name: &str| -> Vec<&String> {
        listings[name].iter().filter(|line| line.trim().starts_with("call ")).collect()
    };
    let inlined = &listings["call_inlined"];
    assert_eq!(locked(inlined), 1, "{inlined:#?}");
    assert!(
        calls("call_inlined").iter().all(|call| call.contains("wait_for_turn")),
        "{inlined:#?}"
    );
    let direct = calls("call_direct");
    assert_eq!(direct.len(), 2, "{:#?}", listings["call_direct"]);
    assert!(direct.iter().all(|call| call.contains("ways4lock") || call.contains("ways6unlock")));
    let indirect = calls("call_indirect");
    assert_eq!(indirect.len(), 2, "{:#?}", listings["call_indirect"]);
    assert!(indirect.iter().all(|call| !call.contains("ways")), "{indirect:#?}");
    assert_eq!(locked(&listings["call_direct"]) + locked(&listings["call_indirect"]), 0);
}

#[test]
fn a_lockref_operation_is_one_compare_exchange() {
    let Some(listings) = listings() else { return };
    for name in [
        "lockref_get",
        "lockref_get_not_dead",
        "lockref_put_return",
        "lockref_put_not_zero",
        "lockref_put_or_lock",
    ] {
        let listing = &listings[name];
        let exchange = |line: &&String| line.contains("lock cmpxchg qword ptr [rdi]");
        let exchanges = listing.iter().filter(exchange).count();
        // The compiler may unroll a loop once; each round has one exchange.
        assert!((1..=2).contains(&exchanges), "{name}: {listing:#?}");
        assert_eq!(locked(listing), exchanges, "{name}: {listing:#?}");
    }
}

#[test]
fn a_page_reference_is_taken_by_one_locked_instruction() {
    let Some(listings) = listings() else { return };
    let before_return = |name: &str| to_return(&listings[name]);
    for (name, instruction) in [
        ("page_get", "lock xadd dword ptr [rdi]"),
        ("page_get_not_zero_locked_bit", "lock xadd dword ptr [rdi]"),
        ("page_get_not_zero_cmpxchg", "lock cmpxchg dword ptr [rdi]"),
        ("page_get_not_zero_optimistic", "lock cmpxchg dword ptr [rdi]"),
        ("page_put", "lock xadd dword ptr [rdi]"),
        ("page_put_locked_bit", "lock xadd dword ptr [rdi]"),
    ] {
        let listing = before_return(name);
        assert_eq!(locked(listing), 1, "{name}: {listing:#?}");
        assert!(listing.iter().any(|line| line.contains(instruction)), "{name}: {listing:#?}");
    }
    // The guessed value saves the load.
    let reads = |name: &str| {
        let read = |line: &&String| line.contains("mov") && line.contains(", dword ptr [rdi]");
        listings[name].iter().filter(read).count()
    };
    assert_eq!(reads("page_get_not_zero_cmpxchg"), 1);
    assert_eq!(reads("page_get_not_zero_optimistic"), 0);
}

#[test]
fn the_platform_costs_nothing() {
    let Some(listings) = listings() else { return };
    for name in ["ticket_lock", "queued_lock", "lockref_get"] {
        let bare = &listings[&format!("bare_{name}")];
        assert_eq!(without_names(&listings[name]), without_names(bare), "{name}");
    }
}

/// Removes the names of slow paths from calls. The slow paths differ and are out of line, so calls
/// of them are compared without names.
fn without_names(listing: &[String]) -> Vec<String> {
    let calls = |line: &String| {
        let word = line.split_whitespace().next().unwrap_or_default();
        if line.contains("_ZN") { format!("    {word} slow path") } else { line.clone() }
    };
    listing.iter().map(calls).collect()
}

#[test]
fn the_harness_counts_locked_instructions() {
    let assembly = "f:\n\t.cfi_startproc\n\tlock\t\txadd\tdword ptr [rdi], eax\n.LBB7_2:\n\
                    \tjne\t.LBB7_2\n\
                    \txchg\tax, ax\n\txchg\tdword ptr [rdi], eax\n\tret\n.Lfunc_end0:\n";
    let functions = functions(assembly, "#");
    let listing = &functions["f"];
    let expected = [
        "    lock xadd dword ptr [rdi], eax",
        ".0:",
        "    jne .0",
        "    xchg ax, ax",
        "    xchg dword ptr [rdi], eax",
        "    ret",
    ];
    assert_eq!(*listing, expected);
    assert_eq!(locked(listing), 2);
}
