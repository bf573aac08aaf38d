//! Library that is preloaded into a program, and replaces its mutexes, spinlocks and condition
//! variables by this project's: see `docs/use/replace-the-mutex.md`.
//!
//! It defines the functions of POSIX threads. Their objects take the same bytes as the C library's
//! objects. Mutexes that are robust, shared between processes, or have a priority protocol are left
//! to the C library. Condition variables that are shared between processes are left to it too.
//!
//! | file | contents |
//! | --- | --- |
//! | `mutex.rs`, `spin.rs`, `condition.rs`, `cancel.rs` | functions under the C library's names |
//! | `layout.rs` | objects in their bytes; the bytes that stay the C library's |
//! | `word.rs` | the locks |
//! | `choice.rs`, `start.rs`, `real.rs` | the choice; the start; the C library's functions |
//! | `priority.rs` | the order of threads with real-time priorities |
//! | `shared.rs`, `gate.rs` | shared condition variables with mutexes that are ours |
//! | `host.rs`, `slots.rs`, `sleep.rs`, `local.rs`, `system.rs` | the process as a host of locks |
//! | `guard.rs` | signs that a thread has ended |
//! | `leave.rs`, `note.rs` | the end of a thread in a handler that interrupts a wait |
//! | `filter.rs`, `unwind.rs` | filters of system calls; the unwinder |
//! | `deadline.rs` | times |
//! | `fork.rs`, `atfork.rs` | the child of a fork; handlers of forks |
//!
//! The rules of `lockyard-preload` hold here too: no allocation, no lock of the C library, no
//! change of `errno`, and thread-local data without a call.

#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    target_pointer_width = "64",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

mod atfork;
mod cancel;
mod choice;
mod condition;
mod deadline;
mod filter;
mod fork;
mod gate;
mod guard;
mod host;
mod layout;
mod leave;
mod local;
mod mutex;
mod note;
mod priority;
mod real;
mod shared;
mod sleep;
mod slots;
mod spin;
mod start;
mod system;
mod unwind;
mod word;
