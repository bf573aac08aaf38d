//! Library that is preloaded into a program and records its locks (`lockyard profile`).
//!
//! It defines the lock functions of POSIX threads, calls the C library's functions of these names,
//! and changes no layout: the program's locks are its own. The records go to a file that is mapped
//! into the process (`lockyard-records` has its layout), so that they survive a crash, `SIGKILL`
//! and `_exit`.
//!
//! | rule | why |
//! | --- | --- |
//! | no allocation and no C library while recording | an allocator takes locks itself |
//! | system calls by instruction | the program's `errno` stays |
//! | thread-local data by the initial-exec model | the general one may allocate |
//! | a call from within the recorder is not recorded | a signal handler may lock too |
//! | the real functions are found on first use | locks come before constructors |
//! | hardly an instruction between acquisition and release | it lengthens critical sections |
//!
//! Times are ticks of the processor's time-stamp counter (`rdtsc`), which needs no call. The
//! command finds the length of a tick.

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
// The copy that the command carries is without the standard library, and so needs the C library
// only. A build that unwinds cannot be without it.
#![cfg_attr(panic = "abort", no_std)]

#[cfg(panic = "abort")]
mod alone;
mod burst;
mod calls;
mod conditions;
mod cost;
mod entry_points;
mod functions;
mod holds;
mod late;
mod local;
mod maps;
mod memory;
mod notes;
mod own;
mod process_file;
mod programs;
mod reading;
mod real;
mod record;
mod sample;
mod signals;
mod start;
mod system;
mod table;
mod thread;
mod unseen;
mod usage;
mod waits;
mod watch;
mod window;
