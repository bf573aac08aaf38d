//! `lockyard profile` over programs whose lock calls are known: counts are exact, whatever the
//! locks are and however the program ends.
//!
//! A test binary of its own, because it needs the system's compilers.

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

mod children;
mod counts;
mod ends;
mod groups;
mod hostile;
mod meets;
mod names;
mod others;
mod readers;
mod record;
mod refused;
mod several;
mod support;
mod text;
mod unseen;
mod waits;
mod why;
