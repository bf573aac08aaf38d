//! Names of files and of scenarios as people write them, defaults, and readers that leave early.

use crate::support::{command, lockyard, text};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const CLX: &str = "cascade-lake-2s24c2t";

/// Returns a new directory of this test.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("names-{name}"));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("there is room");
    path
}

/// Returns the error line of a command that runs in a directory.
fn refusal(folder: &Path, arguments: &[&str]) -> String {
    let output = command(arguments).current_dir(folder).output().expect("the command runs");
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{arguments:?}: {said}");
    said.trim_end().to_owned()
}

#[test]
fn a_misspelt_file_name_is_answered_with_the_file_beside_it() {
    let folder = folder("misspelt");
    std::fs::write(folder.join("mine.toml"), "").expect("there is room");
    let scenario = |name| refusal(&folder, &["predict", name, "-m", CLX, "-t", "1"]);
    let answer = "there is no such file; did you mean";
    assert_eq!(scenario("mine.tml"), format!("lockyard: mine.tml: {answer} `mine.toml`?"));
    assert_eq!(scenario("./mne.toml"), format!("lockyard: ./mne.toml: {answer} `./mine.toml`?"));
    assert_eq!(
        scenario("spin-loop/same-node/embeded"),
        format!(
            "lockyard: spin-loop/same-node/embeded: {answer} the scenario \
             `spin-loop/same-node/embedded`?"
        )
    );
    assert_eq!(
        scenario("other.txt"),
        "lockyard: other.txt: there is no such file; `lockyard scenarios` lists the scenarios"
    );
    let machine = refusal(&folder, &["machines", "show", "mine.tomml"]);
    assert_eq!(machine, format!("lockyard: mine.tomml: {answer} `mine.toml`?"));
    let machine = refusal(&folder, &["machines", "show", "no/such.toml"]);
    assert!(machine.ends_with("no such file; `lockyard machines` lists the machines"), "{machine}");
}

#[test]
#[cfg(unix)]
fn a_loop_of_links_is_a_file_that_cannot_be_read() {
    let folder = folder("loop");
    std::os::unix::fs::symlink("two", folder.join("one")).expect("there is room");
    std::os::unix::fs::symlink("one", folder.join("two")).expect("there is room");
    let said = refusal(&folder, &["predict", "one", "-m", CLX, "-t", "1"]);
    assert!(said.starts_with("lockyard: one: cannot be read: "), "{said}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_script_comes_through_a_pipe_with_a_name() {
    let folder = folder("pipe");
    let pipe = folder.join("pipe");
    if !Command::new("mkfifo").arg(&pipe).status().is_ok_and(|status| status.success()) {
        lockyard_testing::skip!("mkfifo cannot be run");
        return;
    }
    let predict = ["predict", "pipe", "-m", CLX, "-t", "1"];
    let run = |contents: Vec<u8>| {
        let path = pipe.clone();
        let writer = std::thread::spawn(move || {
            let mut pipe = std::fs::File::create(path).expect("a reader comes");
            // In two parts, with a pause: the reader must wait for the second one.
            let (first, second) = contents.split_at(contents.len() / 2);
            // This fails if the reader has stopped reading.
            let _ = pipe.write_all(first);
            std::thread::sleep(std::time::Duration::from_millis(300));
            let _ = pipe.write_all(second);
        });
        let output = command(&predict).current_dir(&folder).output().expect("the command runs");
        writer.join().expect("it writes");
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let script = include_str!("../../../../scenarios/fstat2.toml");
    let (code, printed, said) = run(script.as_bytes().to_vec());
    assert_eq!(code, Some(0), "{said}");
    assert!(printed.contains("fstat2"), "{printed}");
    // A recording may also come on standard input, and is recognised by its beginning.
    let (code, _, said) = run(b"lockyard-recording 1\n{}\n".to_vec());
    assert_eq!((code, said.contains("pipe: line 2, column")), (Some(2), true), "{said}");
    let (code, _, said) = run(vec![b'#'; (1 << 20) + 70_000]);
    assert_eq!((code, said.contains(": is larger than 1048576 bytes")), (Some(2), true), "{said}");
    // Without a writer the command ends with a message.
    let said = refusal(&folder, &predict);
    assert!(said.ends_with("pipe: nothing was written to this pipe in 5 s"), "{said}");
}

#[test]
fn a_file_in_the_wrong_place_is_answered_with_the_right_one() {
    let folder = folder("places");
    std::fs::write(folder.join("small.toml"), "name = 1").expect("there is room");
    let recording = [b"lockyard-recording 1\n".as_slice(), &[0xff; 300_000]].concat();
    std::fs::write(folder.join("w.recording"), recording).expect("there is room");
    for (arguments, right) in [
        (vec!["sweep", "smal.toml", "--count"], "did you mean `small.toml`?"),
        (
            vec!["record", "--host-machine", "smal.toml", "-o", "x", "true"],
            "did you mean `small.toml`?",
        ),
        (vec!["sweep", "w.recording", "--count"], "allowed: with lockyard predict"),
        (vec!["measure", "w.recording"], "allowed: with lockyard predict"),
        (vec!["machines", "check", "./w.recording"], "allowed: with lockyard predict"),
        (vec!["reproduce", "w.recording"], "(lockyard predict takes files)"),
        (
            vec!["scenarios", "show", "w.recording"],
            "`w.recording` is a file; allowed: a name that `lockyard scenarios` lists",
        ),
        (
            vec!["profile", "--report", "x.html", "--force", "true"],
            "with `--force` `profile` needs",
        ),
    ] {
        let said = refusal(&folder, &arguments);
        assert!(said.contains(right) && said.len() < 200, "{arguments:?}: {said}");
    }
    assert_eq!(lockyard(&["machines", "list"]).stdout, lockyard(&["machines"]).stdout);
}

#[test]
fn threads_have_a_default() {
    let output =
        lockyard(&["predict", "page-ref", "-v", "xadd", "-m", "zen4-7840u", "--format", "csv"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    let mut rows = printed.lines();
    let header: Vec<&str> = rows.next().expect("a header").split(',').collect();
    let column = header.iter().position(|name| *name == "threads").expect("a column");
    let mut threads: Vec<usize> =
        rows.filter_map(|row| row.split(',').nth(column)?.parse().ok()).collect();
    threads.sort_unstable();
    threads.dedup();
    // The machine has 8 cores with 2 hardware threads each.
    assert_eq!(threads, [1, 2, 4, 8, 16], "{printed}");
}

#[test]
fn more_threads_than_processors_are_announced_before_they_run() {
    let options = ["--seconds", "0.001", "--repeats", "1", "--stalled-after", "0.1"];
    let measured = |threads: &str| {
        let words = ["measure", "page-ref", "--variant", "xadd", "-t", threads];
        text(&lockyard(&[&words[..], &options].concat()).stderr)
    };
    assert!(measured("200").contains("warning: 200 threads share "), "{}", measured("200"));
    assert!(!measured("1").contains(" share "), "{}", measured("1"));
}

/// `lockyard ... | head -1`: no message, and no other exit code.
#[test]
fn a_reader_may_leave_early() {
    for arguments in [
        &["machines"][..],
        &["machines", "--names"],
        &["machines", "show", CLX],
        &["scenarios"],
        &["--help"],
        &["predict", "--help"],
        &["predict", "fstat2", "-m", CLX, "-t", "1", "-q"],
        &["completions", "bash"],
    ] {
        let mut command = command(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the command runs");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        let said = text(&output.stderr);
        assert_eq!((output.status.code(), said.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

#[test]
fn names_of_machines_are_a_line_each() {
    let printed = text(&lockyard(&["machines", "--names"]).stdout);
    assert!(printed.lines().any(|line| line == CLX), "{printed}");
    assert!(printed.lines().all(|line| !line.contains([' ', '|'])), "{printed}");
}
