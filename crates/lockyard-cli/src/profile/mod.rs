//! `lockyard profile` and `lockyard record`: run a program with the preload library, and report or
//! record its locks.

#[cfg(target_os = "linux")]
mod chains;
#[cfg(target_os = "linux")]
mod cpu_time;
#[cfg(target_os = "linux")]
mod directories;
#[cfg(target_os = "linux")]
mod events;
#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod host_cache;
#[cfg(target_os = "linux")]
mod noticed;
#[cfg(target_os = "linux")]
mod plan;
#[cfg(target_os = "linux")]
mod preloaded;
#[cfg(target_os = "linux")]
mod printed;
#[cfg(target_os = "linux")]
mod program;
#[cfg(target_os = "linux")]
mod prove;
#[cfg(target_os = "linux")]
mod record;
#[cfg(target_os = "linux")]
mod recorded_host;
#[cfg(target_os = "linux")]
mod removal;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod running;
#[cfg(target_os = "linux")]
mod sleeps;
#[cfg(target_os = "linux")]
mod threads;
#[cfg(target_os = "linux")]
mod today;
#[cfg(target_os = "linux")]
mod why;

#[cfg(target_os = "linux")]
pub(crate) use directories::{remove_all, try_remove_all};
#[cfg(target_os = "linux")]
pub(crate) use record::record;
#[cfg(target_os = "linux")]
pub(crate) use run::run;
#[cfg(target_os = "linux")]
pub(crate) use running::kill_program;
#[cfg(target_os = "linux")]
pub(crate) use why::why;

/// Reports that this system is not supported.
#[cfg(not(target_os = "linux"))]
pub(crate) fn record(
    _: &crate::arguments::Record,
) -> Result<std::process::ExitCode, crate::errors::Failure> {
    Err(crate::errors::Failure::Run(
        "record: only programs for Linux on x86-64 with the GNU C library can be recorded".into(),
    ))
}

/// Reports that this system is not supported.
#[cfg(not(target_os = "linux"))]
pub(crate) fn why(
    _: &crate::arguments::Why,
) -> Result<std::process::ExitCode, crate::errors::Failure> {
    Err(crate::errors::Failure::Run(
        "why: only programs for Linux on x86-64 with the GNU C library can be recorded".into(),
    ))
}

/// Reports that this system is not supported.
#[cfg(not(target_os = "linux"))]
pub(crate) fn run(
    _: &crate::arguments::Profile,
) -> Result<std::process::ExitCode, crate::errors::Failure> {
    Err(crate::errors::Failure::Run(
        "profile: only programs for Linux on x86-64 with the GNU C library can be profiled".into(),
    ))
}
