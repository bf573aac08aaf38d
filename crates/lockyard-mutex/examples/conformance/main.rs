//! Checks of mutexes, spinlocks and condition variables against the text of POSIX (IEEE Std
//! 1003.1-2024, *System Interfaces*). Each check names the sentence that it checks. The program
//! calls the C library's functions, so it checks a preloaded library in the same way as the C
//! library:
//!
//! ```text
//! cargo run --release -p lockyard-mutex --example conformance
//! LD_PRELOAD=target/release/liblockyard_mutex.so target/release/examples/conformance
//! ```
//!
//! Each check runs in its own process, for half a minute at most.
//!
//! - `conformance NAME..` runs some.
//! - `conformance --list` lists all with their sentences.
//! - `conformance --table LIBRARY` runs all checks, without the library and with each of its kinds,
//!   and prints the table of `docs/evidence/figures/posix.txt`.
//! - `--quick` before these arguments reduces each check's repetitions to a tenth.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod cancel;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod condition;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod fork;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod mutex;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod posix;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod run;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod shared;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod spin;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod threads;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod timed;

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn main() -> std::process::ExitCode {
    run::main(&[
        mutex::CHECKS,
        timed::CHECKS,
        threads::CHECKS,
        condition::CHECKS,
        cancel::CHECKS,
        spin::CHECKS,
        shared::CHECKS,
        fork::CHECKS,
    ])
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn main() {
    println!("the replacement is for Linux with glibc");
}
