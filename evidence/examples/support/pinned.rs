//! Code shared by the measuring examples: pinned threads, the CPU time of a thread, a new order for
//! each round, and arguments. The arguments are the number of rounds to measure, or a file to
//! compare with a machine.

use std::process::ExitCode;

/// Pins the thread to `cpu`.
pub(crate) fn pin(cpu: usize) {
    // SAFETY: the set is a live `cpu_set_t`, for which all-zero is a valid value.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        assert_eq!(libc::sched_setaffinity(0, size_of_val(&set), &set), 0, "CPU {cpu}");
    }
}

/// Returns the CPUs that the process may use.
pub(crate) fn allowed() -> Vec<usize> {
    // SAFETY: the set is a live `cpu_set_t`, for which all-zero is a valid value, and the call
    // fills it.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        assert_eq!(libc::sched_getaffinity(0, size_of_val(&set), &mut set), 0);
        set
    };
    // SAFETY: the numbers are within the size of the set.
    (0..libc::CPU_SETSIZE as usize).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).collect()
}

/// Returns the nanoseconds that the thread has run on a CPU.
pub(crate) fn cpu_time() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a live `timespec`.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Shuffles `order`. `state` must not be 0.
pub(crate) fn shuffle(order: &mut [usize], state: &mut u64) {
    for last in (1..order.len()).rev() {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        order.swap(last, (*state % (last as u64 + 1)) as usize);
    }
}

/// Measures rounds, or compares a measured file with a machine, depending on the arguments.
pub(crate) fn run(
    name: &str,
    measure: impl FnOnce(usize) -> Result<(), String>,
    compare: impl FnOnce(&str, &str) -> Result<(), String>,
) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match &arguments[..] {
        [rounds] => rounds
            .parse()
            .map_err(|_| format!("`{rounds}` is not a number of rounds"))
            .and_then(measure),
        [measured, machine] => compare(measured, machine),
        _ => Err("give a number of rounds, or a file that was measured and a machine".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("{name}: {what}");
            ExitCode::from(2)
        }
    }
}
