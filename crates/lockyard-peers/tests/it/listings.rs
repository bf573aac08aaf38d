//! Checks the assembly, instruction by instruction: an uncontended ticket or queued lock is a
//! compare-exchange and a store. The loops of `src/straight.rs` lock, add one and unlock, in
//! release mode.
//!
//! The check is exact for the toolchain of `rust-toolchain.toml` on x86-64 Linux. On other hosts
//! this test reports that it checked nothing.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Returns the assembly of the crate; `None` if it cannot be made.
fn assembly() -> Option<&'static str> {
    static ASSEMBLY: OnceLock<Result<String, String>> = OnceLock::new();
    let assembly = ASSEMBLY.get_or_init(compile).as_deref();
    assembly.map_err(|why| lockyard_testing::skip!("{why}")).ok()
}

fn compile() -> Result<String, String> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return Err("the listings are of x86-64 Linux".to_owned());
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let toolchain =
        std::fs::read_to_string(root.join("rust-toolchain.toml")).expect("it is committed");
    let version = Command::new("rustc").arg("--version").output().expect("rustc runs");
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let number = version.split(' ').nth(1).unwrap_or_default();
    if number.is_empty() || !toolchain.contains(&format!("\"{number}\"")) {
        let version = version.trim();
        return Err(format!(
            "the listings are of the toolchain in rust-toolchain.toml, not {version}"
        ));
    }
    // The dependencies come from an optimised build in the same directory.
    let target = target_folder();
    let output = Command::new(env!("CARGO"))
        .args(["rustc", "--offline", "--locked", "--release", "-p", "lockyard-peers", "--lib"])
        .args(["--config", "profile.release.package.lockyard-peers.codegen-units=1"])
        .args([
            "--message-format",
            "json",
            "--",
            "--emit",
            "asm",
            "-C",
            "llvm-args=-x86-asm-syntax=intel",
        ])
        .args(["-C", "target-cpu=x86-64"])
        .current_dir(&root)
        .env("CARGO_TARGET_DIR", &target)
        .env_remove("RUSTFLAGS")
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // Builds with other options have other names in the same directory.
    let said = String::from_utf8_lossy(&output.stdout);
    let (_, name) = said.rsplit_once("/liblockyard_peers-").expect("cargo names what it made");
    let (name, _) = name.split_once('.').expect("it is a file");
    let listing = target.join(format!("release/deps/lockyard_peers-{name}.s"));
    Ok(std::fs::read_to_string(listing).expect("the assembly was asked for"))
}

/// Returns the directory of all builds, in which this test's directory for files is.
fn target_folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    folder.parent().expect("it is in the folder of all builds").to_owned()
}

/// Returns the instructions of one uncontended round of the function's loop, from the loop's head
/// to the jump back to it. Cold code follows after that.
fn uncontended(assembly: &str, name: &str) -> Vec<String> {
    let mut lines = assembly.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let found = |line: &str| line.ends_with(':') && !line.starts_with('.') && line.contains(name);
    assert!(lines.any(found), "there is a function {name}");
    let (mut head, mut round) = (String::new(), Vec::new());
    for line in lines.take_while(|line| !line.starts_with(".Lfunc_end")) {
        if let Some(label) = line.strip_suffix(':') {
            // The loop's head is the last label before the locked instruction.
            if locked(&round).is_empty() {
                head = label.to_owned();
                round.clear();
            }
        } else if !line.is_empty() && !line.starts_with('.') {
            round.push(line.split_whitespace().collect::<Vec<_>>().join(" "));
            if line.starts_with('j') && line.ends_with(&head) && !head.is_empty() {
                return round;
            }
        }
    }
    panic!("{name} has no loop: {round:#?}");
}

/// Instructions that lock the bus or exchange with memory.
fn locked(listing: &[String]) -> Vec<&str> {
    let is_locked = |line: &&str| {
        line.starts_with("lock ")
            || line.starts_with("xchg ") && line.contains('[')
            || line.starts_with("mfence")
    };
    listing.iter().map(String::as_str).filter(is_locked).collect()
}

/// Returns the names of the instructions. A locked one includes its prefix, and a write to memory
/// its width.
fn shape(listing: &[String]) -> Vec<String> {
    let one = |line: &String| {
        let (name, operands) = match line.strip_prefix("lock ") {
            Some(rest) => ("lock ", rest),
            None => ("", line.as_str()),
        };
        let mnemonic = operands.split(' ').next().unwrap_or_default();
        let memory =
            operands.split_once(" ptr [").and_then(|(before, _)| before.rsplit(' ').next());
        match memory {
            Some(width) => format!("{name}{mnemonic} {width}"),
            None => format!("{name}{mnemonic}"),
        }
    };
    listing.iter().map(one).collect()
}

#[test]
fn the_yardstick_is_one_compare_exchange_and_one_plain_store() {
    let Some(assembly) = assembly() else { return };
    let bare = shape(&uncontended(assembly, "bare_loop"));
    let expected = ["xor", "lock cmpxchg dword", "jne", "inc qword", "mov dword", "dec", "jne"];
    assert_eq!(bare, expected);
}

#[test]
fn an_uncontended_queued_lock_is_the_yardstick_but_for_the_width_of_its_store() {
    let Some(assembly) = assembly() else { return };
    let bare = shape(&uncontended(assembly, "bare_loop"));
    let queued = shape(&uncontended(assembly, "queued_loop"));
    let as_bare: Vec<String> = queued
        .iter()
        .map(|i| if i == "mov byte" { "mov dword".to_owned() } else { i.clone() })
        .collect();
    assert_eq!(as_bare, bare);
    assert!(queued.contains(&"mov byte".to_owned()), "{queued:?}");
}

#[test]
fn an_uncontended_ticket_lock_is_one_locked_addition_and_one_plain_store() {
    let Some(assembly) = assembly() else { return };
    let ticket = uncontended(assembly, "ticket_loop");
    assert_eq!(locked(&ticket).len(), 1, "{ticket:#?}");
    let ticket = shape(&ticket);
    // Unlike the yardstick, the loop compares the ticket with the owner, and increments the ticket.
    let expected = [
        "mov",
        "lock xadd dword",
        "mov",
        "shr",
        "cmp",
        "jne",
        "inc qword",
        "inc",
        "mov word",
        "dec",
        "jne",
    ];
    assert_eq!(ticket, expected);
}

#[test]
fn the_reader_of_listings_finds_the_loop() {
    let assembly = "_ZN1a8the_loop17h0E:\n\ttest\trdx, rdx\n\tje\t.LBB1_6\n.LBB1_2:\n\txor\teax, \
                    eax\n\t\
                    lock\t\tcmpxchg\tdword ptr [rdi], \
                    ebp\n\tjne\t.LBB1_3\n.LBB1_4:\n\t#APP\n\n\tmov\tbyte ptr [rdi], al\n\
                    \tdec\trdx\n\tjne\t.LBB1_2\n.LBB1_3:\n\txchg\tdword ptr [rdi], \
                    eax\n\tret\n.Lfunc_end1:\n";
    let round = uncontended(assembly, "the_loop");
    assert_eq!(shape(&round), ["xor", "lock cmpxchg dword", "jne", "mov byte", "dec", "jne"]);
    assert_eq!(locked(&round).len(), 1);
    assert_eq!(locked(&["xchg dword ptr [rdi], eax".to_owned()]).len(), 1);
}
