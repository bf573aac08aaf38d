//! `--report` and `--picture`: files that are complete or absent, and refusals before the work.

use crate::support::folders::{directory, names};
use crate::support::{lockyard, text};
use lockyard_report::{page, picture};
use std::path::Path;

/// Returns the arguments of a prediction that takes almost no time.
fn predict<'a>(threads: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let machine = "skylake-client-4c";
    let mut arguments = vec![
        "predict",
        "page-ref",
        "--machine",
        machine,
        "--threads",
        threads,
        "--variant",
        "xadd",
    ];
    arguments.extend(more);
    arguments
}

fn shown(path: &Path) -> &str {
    path.to_str().expect("the path is text")
}

#[test]
fn a_prediction_has_a_page_and_a_picture_beside_its_output() {
    let folder = directory("report", "written");
    let (report, svg) = (folder.join("a.html"), folder.join("a.svg"));
    let more = ["--report", shown(&report), "--picture", shown(&svg), "--format", "json"];
    for _ in 0..2 {
        // The second run replaces the files of the first.
        let output = lockyard(&predict("1,2", &more));
        let errors = text(&output.stderr);
        assert!(output.status.success(), "{errors}");
        for path in [&report, &svg] {
            assert!(errors.contains(&format!("lockyard: wrote {}\n", path.display())), "{errors}");
        }
        let found = std::fs::read_to_string(&report).expect("the page is there");
        assert!(page::is_page(&found) && !page::is_partial(&found));
        assert!(found.contains("<title>page-ref on skylake-client-4c</title>"));
        let (_, data) = found.split_once("id=\"lockyard-results\">").expect("the document");
        let (data, _) = data.split_once("</script>").expect("its end");
        let mut data: serde_json::Value = serde_json::from_str(data).expect("it is JSON");
        data.as_object_mut().expect("an object").remove("report");
        let printed: serde_json::Value =
            serde_json::from_slice(&output.stdout).expect("the output is JSON");
        assert_eq!(data, printed);
        let found = std::fs::read_to_string(&svg).expect("the picture is there");
        assert!(picture::is_picture(&found) && found.ends_with("</svg>\n"));
    }
    assert_eq!(names(&folder), ["a.html", "a.svg"]);
}

#[test]
fn a_page_says_the_verdict_that_the_terminal_says() {
    let report = directory("report", "verdict").join("v.html");
    let output = lockyard(&predict("1,2,4", &["--report", shown(&report)]));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    let verdict = printed.lines().find(|line| line.starts_with("xadd: ")).expect("a verdict");
    let found = std::fs::read_to_string(&report).expect("the page is there");
    assert!(found.contains(verdict), "{verdict}");
}

#[test]
#[cfg(unix)]
fn another_file_is_not_replaced_and_nothing_is_simulated() {
    let folder = directory("report", "refused");
    let other = folder.join("notes.html");
    std::fs::write(&other, "<html>mine</html>").expect("there is room");
    let nowhere = folder.join("no/such/a.html");
    let same = ["--report", "x.html", "--picture", "x.html"];
    let (one, here) = (folder.join("x.html"), folder.join(".").join("x.html"));
    let hidden = ["--report", shown(&one), "--picture", shown(&here)];
    std::fs::write(folder.join("y.json"), "").expect("there is room");
    std::os::unix::fs::symlink("y.json", folder.join("link.html")).expect("links are allowed");
    let (link, linked) = (folder.join("link.html"), folder.join("y.json"));
    let linked = ["--report", shown(&link), "--trace", shown(&linked)];
    let flat = ["reproduce", "access2", "--no-measure", "--picture", "x.svg"];
    let cases: [(Vec<&str>, &str); 8] = [
        (predict("1", &["--report", shown(&other)]), "exists, and is not a report of lockyard"),
        (predict("1,2", &["--picture", shown(&other)]), "exists, and is not a picture by lockyard"),
        (predict("1", &["--report", shown(&nowhere)]), "cannot be written"),
        (predict("1,2", &same), "--report and --picture name the same file"),
        (predict("1,2", &hidden), "--report and --picture name the same file"),
        (predict("1,2", &linked), "--report and --trace name the same file"),
        (flat.to_vec(), "--picture: no experiment has figures at two or more thread counts"),
        (predict("1", &["--picture", "x.svg"]), "at least two numbers in --threads"),
    ];
    for (arguments, expected) in cases {
        let output = lockyard(&arguments);
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(expected) && errors.lines().count() == 1, "{errors}");
        assert!(output.stdout.is_empty(), "no work was done");
    }
    assert_eq!(std::fs::read_to_string(&other).expect("it is there"), "<html>mine</html>");
    assert_eq!(names(&folder), ["link.html", "notes.html", "y.json"]);
}

#[test]
fn a_comparison_has_a_page() {
    let folder = directory("report", "compared");
    let output = lockyard(&predict("1,2", &["--format", "json"]));
    let (file, report) = (folder.join("a.json"), folder.join("c.html"));
    std::fs::write(&file, &output.stdout).expect("there is room");
    let output = lockyard(&["compare", shown(&file), shown(&file), "--report", shown(&report)]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let found = std::fs::read_to_string(&report).expect("the page is there");
    assert!(page::is_page(&found) && found.contains("Comparison of two results"));
}
