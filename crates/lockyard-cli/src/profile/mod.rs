//! `lockyard profile`: runs a program with the preload library, and reports its locks.

#[cfg(target_os = "linux")]
mod directories;
#[cfg(target_os = "linux")]
mod program;
#[cfg(target_os = "linux")]
mod run;

#[cfg(target_os = "linux")]
pub(crate) use directories::remove_all;
#[cfg(target_os = "linux")]
pub(crate) use run::run;

/// Reports that this system is not supported.
#[cfg(not(target_os = "linux"))]
pub(crate) fn run(
    _: &crate::arguments::Profile,
) -> Result<std::process::ExitCode, crate::errors::Failure> {
    Err(crate::errors::Failure::Run(
        "profile: only programs for Linux on x86-64 with the GNU C library can be profiled".into(),
    ))
}
