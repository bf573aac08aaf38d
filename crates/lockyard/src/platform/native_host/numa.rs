//! The NUMA node where the caller runs, on Linux.
//!
//! A system call returns the node, but costs more than the work that needs the node (for example,
//! an update of a counter). The C library knows the CPU without a system call, and a CPU never
//! moves to another node. So this code asks the kernel once for each CPU, and caches the result.
//! The result is a hint, and orders nothing.

use core::sync::atomic::{AtomicU16, Ordering};

/// Number of CPUs whose node is cached. For higher CPU numbers the kernel is asked each time.
const CPUS: usize = 4096;

/// Node of each CPU plus one, or 0 while it is unknown.
static NODE: [AtomicU16; CPUS] = [const { AtomicU16::new(0) }; CPUS];

/// See [`Host::numa_node`](super::super::Host::numa_node). Returns 0 if the system call fails.
#[inline]
pub(super) fn current_node() -> u32 {
    // SAFETY: the call takes no argument and touches no memory of ours.
    let cpu = unsafe { libc::sched_getcpu() };
    // A negative result (an error) is also outside the table.
    match NODE.get(cpu as usize).map(|node| node.load(Ordering::Relaxed)) {
        Some(node) if node != 0 => u32::from(node) - 1,
        _ => ask(),
    }
}

/// Asks the kernel, and caches the result for the CPU that the kernel names. The caller may already
/// run on another CPU.
#[cold]
#[inline(never)]
fn ask() -> u32 {
    let (mut cpu, mut node) = (0u32, 0u32);
    // SAFETY: both pointers are to live variables; the third argument is unused and null.
    let result = unsafe {
        libc::syscall(
            libc::SYS_getcpu,
            &raw mut cpu,
            &raw mut node,
            core::ptr::null_mut::<libc::c_void>(),
        )
    };
    if result != 0 {
        return 0;
    }
    if let (Some(known), Ok(kept)) = (NODE.get(cpu as usize), u16::try_from(node.saturating_add(1)))
    {
        known.store(kept, Ordering::Relaxed);
    }
    node
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kept_node_is_the_one_that_the_kernel_reports() {
        // Threads may move in between, so the test tries several times. With only one node the two
        // always agree.
        let agree = (0..100).any(|_| ask() == current_node());
        assert!(agree);
        // SAFETY: no argument, and no memory of ours.
        let cpu = unsafe { libc::sched_getcpu() };
        assert!(
            cpu >= 0
                && (cpu as usize >= CPUS || NODE.iter().any(|n| n.load(Ordering::Relaxed) != 0))
        );
    }
}
