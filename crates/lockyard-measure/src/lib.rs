//! Measurements on this host: scenarios, lock calls, system calls.
//!
//! | module | content |
//! | --- | --- |
//! | [`cpus`] | CPUs that the process may use, and placement of threads |
//! | [`detect`] | description of the host |
//! | [`scenario`] | runs of scenarios: rounds, waits, hand-overs |
//! | [`attribution`] | CPU time by phase, sampled |
//! | [`counters`] | hardware performance counters |
//! | [`kernel`] | costs of the kernel's calls that sleep, wake and yield |
//! | [`call_path`] | cost of calling a lock in different ways |
//! | [`syscalls`] | system calls of the running kernel |
//! | [`peers`] | other projects' locks in place of a scenario's own |

pub mod attribution;
pub mod call_path;
pub mod counters;
pub mod cpus;
pub mod detect;
pub mod kernel;
pub mod membarrier;
pub mod order;
pub mod peers;
pub mod scenario;
#[cfg(target_os = "linux")]
pub mod syscalls;
pub mod watchdog;
