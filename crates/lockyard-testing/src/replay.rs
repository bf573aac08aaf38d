//! Replays the committed inputs of a target, and changes of each: programs on tables, and files
//! that readers get.

use std::path::Path;

/// The name of a target, and its function.
pub type Target = (&'static str, fn(&[u8]));

/// Runs a target on each input of its corpus and on `changes` changes of each. Returns the number
/// of inputs.
///
/// # Panics
///
/// Panics if there is no corpus, or if the target does. The input that it panicked on is printed.
pub fn replay(inputs: &Path, target: &Target, changes: u64) -> u64 {
    let (name, run) = target;
    let folder = inputs.join(name);
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("a file").path())
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{} has no input", folder.display());
    let mut count = 0;
    for file in files {
        let input = std::fs::read(&file).expect("it is a file");
        for change in 0..=changes {
            let changed = changed(&input, change);
            let panics = std::panic::catch_unwind(|| run(&changed));
            if let Err(panic) = panics {
                let shown = String::from_utf8_lossy(&changed);
                println!("{name} panics on change {change} of {}:\n{shown:?}", file.display());
                std::panic::resume_unwind(panic);
            }
            count += 1;
        }
    }
    count
}

/// Returns the input with `change` in one to three places; unchanged for 0. The same number makes
/// the same change.
fn changed(input: &[u8], change: u64) -> Vec<u8> {
    let mut output = input.to_vec();
    let mut state = change.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ input.len() as u64;
    let mut next = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below.max(1)
    };
    for _ in 0..change.min(1 + change % 3) {
        let at = next(output.len());
        match next(6) {
            0 => output.truncate(at),
            1 if !output.is_empty() => output[at] ^= 1 << next(8),
            2 => output.insert(at, [b'0', b'"', b'\n', b',', b'-', b'e', 0xff][next(7)]),
            3 if !output.is_empty() => drop(output.remove(at)),
            4 => {
                let end = (at + next(32)).min(output.len());
                let part = output[at..end].to_vec();
                let to = next(output.len());
                output.splice(to..to, part);
            }
            _ => {
                let numbers: [&[u8]; 5] = [b"1e999", b"-1", b"18446744073709551616", b"nan", b"0"];
                let end = (at + next(4)).min(output.len());
                output.splice(at..end, numbers[next(5)].iter().copied());
            }
        }
    }
    output
}
