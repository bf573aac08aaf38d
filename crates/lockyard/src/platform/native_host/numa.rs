//! On which NUMA node the caller runs, on Linux.
//!
//! The kernel answers by a system call, which costs more than what is done with the answer (an update of a
//! counter, say). The C library knows the CPU without one, and a CPU does not change its node: so the
//! kernel is asked once for each CPU, and the answer is kept. What is kept is a hint, and orders nothing.

use core::sync::atomic::{AtomicU16, Ordering};

/// CPUs whose node is kept. The kernel is asked each time on those beyond.
const CPUS: usize = 4096;

/// For each CPU: 0 while it is not known, then one more than its node.
static NODE: [AtomicU16; CPUS] = [const { AtomicU16::new(0) }; CPUS];

/// See [`Host::numa_node`](super::super::Host::numa_node). 0 where the kernel does not say.
#[inline]
pub(super) fn current_node() -> u32 {
    // SAFETY: no argument, and no memory of ours.
    let cpu = unsafe { libc::sched_getcpu() };
    // A negative answer (an error) is beyond the table too.
    match NODE.get(cpu as usize).map(|node| node.load(Ordering::Relaxed)) {
        Some(node) if node != 0 => u32::from(node) - 1,
        _ => ask(),
    }
}

/// Asks the kernel, and keeps the answer: for the CPU that it names, which may be another one by now.
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
    fn what_is_kept_is_what_the_kernel_says() {
        // Threads may move in between, so a few tries; on one node there is nothing to miss.
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
