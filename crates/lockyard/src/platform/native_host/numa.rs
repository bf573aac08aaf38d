//! The NUMA node on which the caller runs, on Linux.
//!
//! A system call gives the answer, but costs more than the work that needs it (an update of a
//! counter, say). The C library knows the CPU without a system call, and a CPU does not change its
//! node. So the kernel is asked once for each CPU, and the answer is kept. It is a hint, and orders
//! nothing.

use core::sync::atomic::{AtomicU16, Ordering};

/// CPUs whose node is kept. On higher ones the kernel is asked each time.
const CPUS: usize = 4096;

/// For each CPU: its node plus one, or 0 while that is unknown.
static NODE: [AtomicU16; CPUS] = [const { AtomicU16::new(0) }; CPUS];

/// See [`Host::numa_node`](super::super::Host::numa_node). 0 if the kernel does not say.
#[inline]
pub(super) fn current_node() -> u32 {
    // SAFETY: it takes no argument and touches no memory of ours.
    let cpu = unsafe { libc::sched_getcpu() };
    // A negative answer (an error) is beyond the table too.
    match NODE.get(cpu as usize).map(|node| node.load(Ordering::Relaxed)) {
        Some(node) if node != 0 => u32::from(node) - 1,
        _ => ask(),
    }
}

/// Asks the kernel, and keeps the answer for the CPU that it names. The caller may be on another by
/// now.
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
        // Threads may move in between, so it tries several times. On one node it agrees anyway.
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
