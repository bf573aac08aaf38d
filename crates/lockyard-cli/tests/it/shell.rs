//! Completions and manual pages.

use crate::support::folders::{directory, names};
use crate::support::{lockyard, text};
use std::process::Command;

#[test]
fn completions_name_every_command_and_bash_reads_them() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = lockyard(&["completions", shell]);
        assert!(output.status.success() && output.stderr.is_empty(), "{shell}");
        let script = text(&output.stdout);
        for name in ["scenarios", "--sensitivity"] {
            // Fish writes an option without its dashes.
            assert!(script.contains(name.trim_start_matches('-')), "{shell}: {name}");
        }
    }
    let script = text(&lockyard(&["completions", "bash"]).stdout);
    let ask = "COMP_WORDS=(lockyard pre) COMP_CWORD=1; _lockyard lockyard pre lockyard; \
               echo \"${COMPREPLY[@]}\"";
    let Ok(output) = Command::new("bash").args(["-c", &format!("{script}\n{ask}")]).output() else {
        return lockyard_testing::skip!("there is no bash");
    };
    assert_eq!(text(&output.stdout).trim(), "predict", "{}", text(&output.stderr));
}

#[test]
fn there_is_a_manual_page_for_each_command() {
    let directory = directory("shell", "man").join("deeper/man1");
    let shown = directory.to_str().expect("the path is text");
    for _ in 0..2 {
        let output = lockyard(&["man", shown]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let pages = names(&directory);
        for page in ["lockyard.1", "lockyard-predict.1", "lockyard-machines-show.1"] {
            assert!(pages.iter().any(|name| name == page), "{page}: {pages:?}");
        }
        assert!(pages.iter().all(|name| name.ends_with(".1")), "no other file stays: {pages:?}");
    }
    let page = std::fs::read_to_string(directory.join("lockyard-predict.1")).expect("it is there");
    assert!(page.contains(".TH lockyard-predict 1"), "{page}");
    assert!(page.contains("Run a scenario on a simulated machine"), "{page}");
}

#[test]
fn manual_pages_in_a_file_s_place_are_refused() {
    let file = directory("shell", "refused").join("file");
    std::fs::write(&file, "text").expect("there is room");
    let output = lockyard(&["man", file.to_str().expect("the path is text")]);
    let why = text(&output.stderr);
    assert_eq!((output.status.code(), why.lines().count()), (Some(2), 1), "{why}");
    assert!(why.contains("is a file; name a directory"), "{why}");
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), "text");
}
