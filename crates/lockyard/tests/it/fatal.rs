//! A broken invariant ends the program, even if its standard error is closed.

#![cfg(all(unix, feature = "std"))]

use lockyard::lock::{Clh, Mcs};
use lockyard::platform::Host;
use lockyard::{Native, RawSpinLock};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

const MESSAGE: &str = "an invariant was lost";

/// Runs `test` of this file again, in a separate process that [`die_if_child`] ends.
fn in_a_child(test: &str) -> Command {
    let mut command = lockyard_testing::this_program();
    command
        .args(["--exact", &format!("fatal::{test}"), "--nocapture"])
        .env("LOCKYARD_DIES", "1")
        .stdout(Stdio::null());
    command
}

fn die_if_child() {
    if std::env::var_os("LOCKYARD_DIES").is_some() {
        Native::fatal(MESSAGE);
    }
}

#[test]
fn it_prints_the_reason_and_aborts() {
    die_if_child();
    let output = in_a_child("it_prints_the_reason_and_aborts").output().expect("it starts");
    assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{:?}", output.status);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.lines().any(|line| line == format!("lockyard: {MESSAGE}")), "{said}");
}

#[test]
fn it_aborts_though_nobody_reads_its_message() {
    die_if_child();
    let (reader, writer) = std::io::pipe().expect("a pipe can be made");
    drop(reader);
    let status = in_a_child("it_aborts_though_nobody_reads_its_message")
        .stderr(writer)
        .status()
        .expect("it starts");
    assert_eq!(status.signal(), Some(libc::SIGABRT), "{status:?}: it unwound");
}

#[test]
fn a_fifth_queue_node_is_fatal_whatever_the_thread_released_before() {
    const TEST: &str = "a_fifth_queue_node_is_fatal_whatever_the_thread_released_before";
    if std::env::var_os("LOCKYARD_DIES").is_some() {
        // SAFETY: the call sets a timer whose signal ends the process.
        unsafe { libc::alarm(60) };
        let released = RawSpinLock::<Clh>::new();
        let held = released.acquire();
        // SAFETY: taken above.
        unsafe { released.release(held) };
        let (one, three): (RawSpinLock<Mcs>, [RawSpinLock<Clh>; 3]) = Default::default();
        let _one = one.acquire();
        let _three = three.each_ref().map(RawSpinLock::acquire);
        let _fifth = released.acquire();
        return;
    }
    let output = in_a_child(TEST).output().expect("it starts");
    assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{:?}", output.status);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("already holds four of these locks"), "{said}");
}
