//! Bad usage and bad input, through the real command. Each has exit code 2, and one line on
//! standard error with the error, its place and the allowed values. Standard output is empty, and
//! nothing panics.

use crate::support::lockyard;
use std::path::PathBuf;
use std::process::Command;

const MACHINE: &str = include_str!("../../../../machines/cascade-lake-2s24c2t.toml");
const SCRIPT: &str = include_str!("../../../../scenarios/fstat2.toml");

/// Returns the error line of a command that ends with exit code 2.
fn refusal(arguments: &[&str]) -> String {
    let output = lockyard(arguments);
    let stderr = String::from_utf8(output.stderr).expect("it is text");
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    let mut lines = stderr.lines();
    let line = lines.next().expect("it says why").to_owned();
    assert_eq!(lines.next(), None, "{arguments:?}: one line: {stderr}");
    assert!(!line.contains("panicked"), "{line}");
    line
}

/// A file of the test.
struct File(PathBuf);

impl File {
    fn new(name: &str, bytes: &[u8]) -> File {
        let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("bad-input");
        std::fs::create_dir_all(&directory).expect("there is room");
        let path = directory.join(name);
        std::fs::write(&path, bytes).expect("there is room");
        File(path)
    }
    fn path(&self) -> &str {
        self.0.to_str().expect("the path is text")
    }
}

fn predict<'a>(scenario: &'a str, machine: &'a str, threads: &'a str) -> Vec<&'a str> {
    vec!["predict", scenario, "--machine", machine, "--threads", threads]
}

const CLX: &str = "cascade-lake-2s24c2t";

#[test]
fn unknown_names_are_answered_with_the_nearest_right_ones() {
    assert_eq!(
        refusal(&["reproduce", "fsatt2"]),
        "lockyard: there is no experiment `fsatt2`; did you mean `fstat2`?"
    );
    let answer = refusal(&["reproduce", "zzz"]);
    let begins = "lockyard: there is no experiment `zzz`; there are: lockref-will-it-scale, open3, \
                  fstat2, access2, qspinlock-loop, spin-loop/same-node/standalone, ";
    assert!(answer.starts_with(begins), "{answer}");
    for table in lockyard_results::published::shipped().expect("the tables are valid") {
        for name in [vec![table.name.as_str()], table.experiments()].concat() {
            assert!(answer.contains(name), "`{name}`: {answer}");
        }
    }
    assert_eq!(
        refusal(&predict("open", CLX, "1")),
        "lockyard: there is no scenario `open`; did you mean `open3`? (or name a file)"
    );
    assert_eq!(
        refusal(&predict("fstat2", "cascade-lake", "1")),
        format!(
            "lockyard: there is no machine `cascade-lake`; did you mean `{CLX}`? (or name a file)"
        )
        .replace(" (or", " (or")
    );
    assert_eq!(
        refusal(&[&predict("fstat2", CLX, "1")[..], &["--variant", "lockref-puase"]].concat()),
        "lockyard: scenario `fstat2` has no variant `lockref-puase`; did you mean `lockref-pause`?"
    );
    assert!(
        refusal(&["machines", "show", "x\u{1b}[31m"])
            .contains("there is no machine `x\\u{1b}[31m`")
    );
}

#[test]
fn numbers_of_threads_are_whole_and_within_the_machine() {
    let allowed = "allowed: whole numbers from 1, such as 1,2,4 or 1-4 or 16-96:16";
    for wrong in ["0", "x", "-1", "1,,2", "1.5", "18446744073709551616"] {
        let part = wrong.split(',').find(|p| p.parse::<u8>().is_err() || *p == "0").unwrap_or("");
        let mut arguments = predict("fstat2", CLX, "1");
        let threads = format!("--threads={wrong}");
        arguments.truncate(4);
        arguments.push(&threads);
        assert_eq!(
            refusal(&arguments),
            format!("lockyard: --threads: `{part}` is not a number of threads; {allowed}")
        );
    }
    assert_eq!(
        refusal(&predict("fstat2", CLX, "1,97")),
        format!("lockyard: 97 threads on machine `{CLX}`; allowed: 1 to 96")
    );
    let long = (1..=300).map(|number| number.to_string()).collect::<Vec<_>>().join(",");
    assert!(refusal(&predict("fstat2", CLX, &long)).contains("more than 256 numbers"));
}

#[test]
fn a_script_without_steps_has_no_prediction() {
    let text = "name = \"empty\"\n[[objects]]\nname = \"w\"\nkind = \"word\"\n[[steps]]\n\
                do = \"add\"\nobject = \"w\"\nonly = [\"adds\"]\n[[variants]]\nname = \"adds\"\n\
                [[variants]]\nname = \"nothing\"\n";
    let file = File::new("without-steps.toml", text.as_bytes());
    assert_eq!(
        refusal(&predict(file.path(), CLX, "1")),
        "lockyard: empty: the variant `nothing` has no steps, so its operations take no time on a \
         simulated machine; allowed: one or more [[steps]]"
    );
    let adds = lockyard(&[&predict(file.path(), CLX, "1")[..], &["--variant", "adds"]].concat());
    assert_eq!(adds.status.code(), Some(0), "the other variant has one");
}

#[test]
fn a_broken_machine_file_is_refused_with_its_line() {
    let broken = |name: &str, from: &str, to: &str| {
        assert!(MACHINE.contains(from), "{from}");
        let file = File::new(name, MACHINE.replacen(from, to, 1).as_bytes());
        let refusals = [
            refusal(&predict("fstat2", file.path(), "1")),
            refusal(&["machines", "show", file.path()]),
        ];
        assert_eq!(refusals[0], refusals[1]);
        refusals[0]
            .strip_prefix(&format!("lockyard: {}:", file.path()))
            .expect("the file")
            .to_owned()
    };
    let line = 1 + MACHINE.lines().position(|l| l.starts_with("pause")).expect("it is there");
    assert_eq!(
        broken("negative.toml", "pause = { value = 40", "pause = { value = -40"),
        format!("{line}: `cycles.pause` is -40; allowed: 1 to 1000 cycles")
    );
    assert_eq!(
        broken("misspelt.toml", "\npause = {", "\npuase = {"),
        format!("{line}: [cycles] has no `puase`; did you mean `pause`?")
    );
    assert_eq!(
        broken("huge.toml", "pause = { value = 40", "pause = { value = 4000000000"),
        format!("{line}: `cycles.pause` is 4000000000; allowed: 1 to 1000 cycles")
    );
    assert_eq!(
        broken("missing.toml", "\npause = {", "\n# pause = {"),
        " [cycles] lacks `pause` (pause instruction); allowed: 1 to 1000 cycles"
    );
    let binary = File::new("binary.toml", b"name = \"x\"\n\x80\xff\x00");
    assert_eq!(
        refusal(&["machines", "show", binary.path()]),
        format!("lockyard: {}:2: not UTF-8 text; a machine file is TOML", binary.path())
    );
    assert!(
        refusal(&["machines", "show", "none.toml"]).contains("none.toml: there is no such file")
    );
}

#[test]
fn a_broken_script_is_refused_with_its_line() {
    let broken = |name: &str, from: &str, to: &str| {
        assert!(SCRIPT.contains(from), "{from}");
        let file = File::new(name, SCRIPT.replacen(from, to, 1).as_bytes());
        let refusal = refusal(&predict(file.path(), CLX, "1"));
        refusal.strip_prefix(&format!("lockyard: {}:", file.path())).expect("the file").to_owned()
    };
    let line = |text: &str| 1 + SCRIPT.lines().position(|l| l == text).expect("it is there");
    assert_eq!(
        broken("s-step.toml", "do = \"get\"", "do = \"gte\""),
        format!("{}: there is no step `gte`; did you mean `get`?", line("do = \"get\""))
    );
    assert_eq!(
        broken("s-negative.toml", "share = 1.0", "share = -1.0"),
        format!("{}: `share` is -1; allowed: above 0, at most 1000000", line("share = 1.0"))
    );
    assert_eq!(
        broken("s-huge.toml", "count = 1\n", "count = 4000000000\n"),
        format!("{}: `count` is 4000000000; allowed: 0 to 1048576", line("count = 1"))
    );
    assert!(broken("s-missing.toml", "name = \"fstat2\"\n", "").contains("missing field `name`"));
    let binary = File::new("s-binary.toml", b"\x00\x01\xfe\xff");
    assert_eq!(
        refusal(&predict(binary.path(), CLX, "1")),
        format!("lockyard: {}:1: not UTF-8 text; a script is TOML", binary.path())
    );
}

#[test]
fn a_broken_published_row_is_refused_with_its_line() {
    let table = include_str!("../../../../published/lockref-will-it-scale.csv");
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("bad-table");
    std::fs::create_dir_all(&directory).expect("there is room");
    let path = directory.join("lockref-will-it-scale.csv");
    let place = directory.to_str().expect("the path is text");
    let broken = |from: &str, to: &str| {
        std::fs::write(&path, table.replacen(from, to, 1)).expect("there is room");
        let refusal = refusal(&["reproduce", "--no-measure", "--published", place]);
        refusal
            .strip_prefix(&format!("lockyard: {}:", path.display()))
            .expect("the file")
            .to_owned()
    };
    assert_eq!(
        broken(",814942,", ",8149x2,"),
        "4: `value` is `8149x2`; allowed: a number above 0, at most 1e15"
    );
    assert_eq!(
        broken("lockref,1,throughput", "lockref,0,throughput"),
        "4: `threads` is `0`; allowed: a whole number, 1 to 100000, or nothing"
    );
    assert!(broken(",op/s", "").starts_with("3: 6 columns; a row has 7"));
    assert_eq!(broken("# source: ", "# from "), "1: the first line must be `# source: ...`");
    std::fs::write(&path, b"# source: x\n\xff").expect("there is room");
    let refusal = refusal(&["reproduce", "--published", place]);
    assert!(refusal.ends_with(":2: not UTF-8 text; a table is CSV"), "{refusal}");
}

#[test]
fn a_path_that_is_not_a_file_is_refused_without_waiting_for_it() {
    let directory = env!("CARGO_TARGET_TMPDIR");
    let refused = refusal(&["machines", "show", &format!("{directory}/")]);
    assert!(refused.ends_with(": is not a file"), "{refused}");
    #[cfg(unix)]
    {
        let pipe = format!("{directory}/pipe-{}.toml", std::process::id());
        if Command::new("mkfifo").arg(&pipe).status().is_ok_and(|s| s.success()) {
            // A pipe is read. Without a writer the wait ends.
            let refused = refusal(&predict("fstat2", &pipe, "1"));
            assert!(refused.ends_with(": nothing was written to this pipe in 5 s"), "{refused}");
            std::fs::remove_file(&pipe).expect("it was made above");
        }
    }
}

#[test]
fn a_script_whose_operations_take_less_than_a_cycle_ends() {
    let begin = SCRIPT.split("[[objects]]").next().expect("the head");
    let end = "[[variants]]\nname = \"v\"\ntitle = \"v\"\n[placement]\norder = \"siblings-last\"\n";
    let steps = "[[steps]]\ndo = \"work\"\nns = 0.01\n";
    let file = File::new("tiny.toml", format!("{begin}{steps}{end}").as_bytes());
    let output = lockyard(&predict(file.path(), CLX, "1"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_script_with_a_lock_runs_to_its_end() {
    let example =
        include_str!("../../../../docs/model/scenarios.md").split("```toml\n").nth(1).expect("one");
    let script = example.split("```").next().expect("it ends");
    let file = File::new("counter.toml", script.as_bytes());
    let output = lockyard(&predict(file.path(), CLX, "1,2,24,48"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn bad_usage_is_refused_in_one_line_that_says_where_and_what_is_allowed() {
    let commands = "reproduce, predict, sweep, merge, measure, fit, syscalls, lock-call-path, \
                    why, profile, record, compare, machines, scenarios, completions, man, help";
    let machine = "<NAME|FILE>: machine name or path of a machine file";
    for (arguments, answer) in [
        (&["zzz"][..], format!("`lockyard` has no command `zzz`; there are: {commands}")),
        (&["predic"], "`lockyard` has no command `predic`; did you mean `predict`?".to_owned()),
        (&["machines", "shw"], "`machines` has no command `shw`; did you mean `show`?".to_owned()),
        (
            &["-x"],
            "`lockyard` has no option `-x`; there are: --color, --quiet, --waits, --help, --version"
                .to_owned(),
        ),
        (
            &["--format", "json", "reproduce"],
            "`lockyard` has no option `--format`; there are: --color, --quiet, --waits, --help, \
             --version"
                .to_owned(),
        ),
        (
            &["predict"],
            "`predict` needs --machine <NAME|FILE>: machine names or paths of machine \
             files; host is that of a recording; <SCENARIO>: scenario name \
             (open3, fstat2, page-ref, ...), path of a script or of a recording; - reads a \
             script from standard input"
                .to_owned(),
        ),
        (&["machines", "show"], format!("`machines show` needs {machine}")),
        (
            &["compare", "a.json"],
            "`compare` needs <B>: results to compare with the baseline; with --ab a program"
                .to_owned(),
        ),
        (
            &["machines", "calibrate", "--force"],
            "with `--force` `machines calibrate` needs --out <FILE>: write the machine file \
             here [default: print it below the figures]"
                .to_owned(),
        ),
        (
            &["predict", "fstat2", "--machin", CLX],
            "`predict` has no option `--machin`; did you mean `--machine`?".to_owned(),
        ),
        (
            &["machines", "check", "--all"],
            "`machines check` has no option `--all`; there are: --format, --color, --quiet, --waits, \
             --help"
                .to_owned(),
        ),
        (
            &["machines", "show", "a", "\u{1b}[31m"],
            "`machines show`: `\\u{1b}[31m` is one too many; allowed: <NAME|FILE>".to_owned(),
        ),
        (
            &["lock-call-path", "ticket"],
            "`lock-call-path`: `ticket` is one too many; allowed: only options".to_owned(),
        ),
    ] {
        assert_eq!(refusal(arguments), format!("lockyard: {answer}"));
    }
}

#[test]
fn bad_values_of_options_are_refused_in_one_line() {
    for (arguments, answer) in [
        (
            &["reproduce", "--format", "xml"][..],
            "--format: there is no `xml`; allowed: table, json, csv, markdown".to_owned(),
        ),
        (
            &["reproduce", "--format", "jsn"],
            "--format: there is no `jsn`; did you mean `json`?".to_owned(),
        ),
        (
            &["reproduce", "--format"],
            "--format has no value; allowed: table, json, csv, markdown".to_owned(),
        ),
        (
            &["measure", "fstat2", "--threads"],
            "--threads has no value; allowed: thread counts, e.g. 1-4,8 [default: 1, 2, 4, ... up \
             to the number of CPUs]"
                .to_owned(),
        ),
        (&["measure", "--fit=3"], "--fit takes no value, and `3` was given".to_owned()),
        (
            &["measure", "fstat2", "--threads=1", "--threads=2"],
            "--threads is given more than once; allowed: once".to_owned(),
        ),
        (
            &["reproduce", "--training", "--published", "x"],
            "--training and --published do not go together; allowed: one of them".to_owned(),
        ),
        (&["reproduce", "--jobs", "0"], "--jobs is 0; allowed: 1 to 1024".to_owned()),
        (&["reproduce", "--jobs", "x"], "--jobs is x; allowed: 1 to 1024".to_owned()),
        (&["measure", "--repeats", "-1"], "--repeats is -1; allowed: 1 to 1000".to_owned()),
        (
            &["measure", "--seconds", "x"],
            "--seconds is `x`; allowed: 0.001 to 3600 seconds".to_owned(),
        ),
    ] {
        assert_eq!(refusal(arguments), format!("lockyard: {answer}"));
    }
}

#[test]
fn every_command_refuses_an_option_that_it_does_not_have_in_one_line() {
    let machines = ["show", "detect", "check", "calibrate"].map(|name| vec!["machines", name]);
    let others = ["reproduce", "predict", "measure", "syscalls"];
    let more = ["lock-call-path", "compare", "machines"];
    let commands = others.into_iter().chain(more).map(|name| vec![name]).chain(machines);
    for mut command in commands {
        let begins =
            format!("lockyard: `{}` has no option `--zzzz`; there are: --", command.join(" "));
        command.push("--zzzz");
        let line = refusal(&command);
        assert!(line.starts_with(&begins), "{line}");
    }
}

#[test]
fn a_step_that_no_script_may_do_is_an_error_at_its_place() {
    let file = File::new("beyond.toml", lockyard_testing::WRONG_STEP.as_bytes());
    let expected = format!(
        "lockyard: {}:12: `slots` has 4 words, and a step used word 4; allowed: 0 to 3 (v, 2 \
         threads, seed 1)",
        file.path()
    );
    assert_eq!(refusal(&predict(file.path(), CLX, "2")), expected);
}

#[cfg(unix)]
#[test]
fn arguments_that_are_not_text_are_refused() {
    use std::os::unix::ffi::OsStrExt;
    let output = Command::new(env!("CARGO_BIN_EXE_lockyard"))
        .args(["predict".as_ref(), std::ffi::OsStr::from_bytes(b"\xff")])
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).expect("it is text");
    assert_eq!(stderr, "lockyard: `predict`: an argument is not UTF-8 text\n");
}

#[test]
fn results_that_cannot_be_written_are_an_error_and_leave_nothing_half_written() {
    let file = File::new("a-file", b"");
    let inside = format!("{}/directory", file.path());
    assert!(
        refusal(&["reproduce", "fstat2", "--no-measure", "--out", &inside])
            .contains("cannot be made")
    );
    // A directory takes the place of a result file.
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("blocked");
    std::fs::create_dir_all(directory.join("results.json")).expect("there is room");
    let out = directory.to_str().expect("the path is text");
    let output = lockyard(&["reproduce", "access2", "--no-measure", "--out", out]);
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).expect("it is text");
    assert!(stderr.contains("results.json cannot be written"), "{stderr}");
    assert!(!directory.join(".results.json.partial").exists());
}

#[test]
fn no_arguments_say_what_the_command_can_do() {
    let output = lockyard(&[]);
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).expect("it is text");
    for command in ["reproduce", "predict", "machines"] {
        assert!(text.contains(command), "{text}");
    }
}
