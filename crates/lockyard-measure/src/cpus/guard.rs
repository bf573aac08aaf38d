//! Checks that a run kept its CPUs. Another process may change the allowed CPUs during a run, with
//! `taskset` or through a container's cpuset. Later measurements would then not match the request.
//! So each run checks its CPUs after its threads have stopped. A run that lost CPUs has no figure.

use super::affinity::allowed;
use super::placement::Placement;
use std::sync::OnceLock;

/// CPUs that the process could use at its first measurement. A process measures one thing at a
/// time.
static AT_FIRST: OnceLock<Vec<usize>> = OnceLock::new();

/// Remembers the CPUs that the calling thread may use, before the first run. The threads of a run
/// inherit them.
pub fn begin() {
    AT_FIRST.get_or_init(current);
}

/// Returns true if the calling thread is still pinned to `cpu`.
pub fn is_pinned_to(cpu: usize) -> bool {
    allowed().is_none_or(|cpus| cpus == [cpu])
}

/// Checks the CPUs after a run with this many threads. `pinned` is true if the threads could be
/// pinned, `kept` if they stayed pinned.
///
/// # Errors
///
/// If CPUs of the run were taken away. The error names the CPUs before and after, and the remedy.
pub fn check(
    placement: &Placement,
    threads: usize,
    pinned: bool,
    kept: bool,
) -> Result<(), String> {
    let now = current();
    let at_first = AT_FIRST.get().unwrap_or(&now);
    // Unpinned threads may run on all CPUs.
    let wanted: Option<Vec<usize>> =
        if pinned { (0..threads).map(|index| placement.cpu(index)).collect() } else { None };
    match disturbance(at_first, &now, wanted.as_deref(), kept) {
        None => Ok(()),
        Some(what) => Err(format!(
            "{what}: another process (taskset) or a cpuset changed that. \
             The round in which it was noticed is not counted, and nothing was measured after it; \
             measure again without such changes"
        )),
    }
}

/// Returns a description of the disturbance, if there was one. `wanted` are the CPUs to which the
/// threads were pinned.
fn disturbance(
    at_first: &[usize],
    now: &[usize],
    wanted: Option<&[usize]>,
    kept: bool,
) -> Option<String> {
    let list = |cpus: &[usize]| {
        let shown: Vec<String> = cpus.iter().take(16).map(usize::to_string).collect();
        format!("{}{}", shown.join(","), if cpus.len() > 16 { ",..." } else { "" })
    };
    let taken_away = match wanted {
        Some(wanted) => wanted.iter().any(|cpu| !now.contains(cpu)),
        None => now != at_first,
    };
    if taken_away && now != at_first {
        return Some(format!(
            "the CPUs that this process may use changed while it measured, from {} to {}",
            list(at_first),
            list(now)
        ));
    }
    (!kept).then(|| "a measuring thread was moved from the CPU to which it was pinned".to_owned())
}

/// Returns the CPUs that the calling thread may use now, ascending; empty if the system does not
/// report them.
fn current() -> Vec<usize> {
    allowed().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_a_pinned_thread_used_and_that_is_gone_is_noticed() {
        let gone = disturbance(&[0, 1, 2], &[0, 1], Some(&[0, 2]), true).unwrap();
        assert_eq!(
            gone,
            "the CPUs that this process may use changed while it measured, from 0,1,2 to 0,1"
        );
        assert_eq!(disturbance(&[0, 1, 2], &[0, 1], Some(&[0, 1]), true), None, "it used neither");
        assert_eq!(disturbance(&[0, 1], &[0, 1, 2], Some(&[0, 1]), true), None, "more is no less");
        assert_eq!(disturbance(&[0, 1], &[0, 1], Some(&[0, 1]), true), None);
    }

    #[test]
    fn threads_that_roam_notice_every_change() {
        assert!(disturbance(&[0, 1], &[0], None, true).is_some());
        assert!(disturbance(&[0, 1], &[0, 1, 2], None, true).is_some());
        assert_eq!(disturbance(&[0, 1], &[0, 1], None, true), None);
    }

    #[test]
    fn a_thread_that_was_moved_and_not_its_process_is_noticed() {
        let moved = disturbance(&[0, 1], &[0, 1], Some(&[0, 1]), false).unwrap();
        assert!(moved.contains("was moved from the CPU"), "{moved}");
    }

    #[test]
    fn a_change_of_the_calling_thread_s_own_mask_is_found() {
        // Use a separate thread, so changing the mask affects no other thread.
        std::thread::spawn(|| {
            let all = current();
            let first = all[0];
            let placement = Placement::Pinned(all.clone());
            begin();
            if AT_FIRST.get() != Some(&all) || all.len() < 2 || !super::super::pin(first) {
                return lockyard_testing::skip!("there is one CPU, or pinning is not allowed");
            }
            assert!(is_pinned_to(first) && !is_pinned_to(all[1]));
            let error = check(&placement, all.len(), true, true).unwrap_err();
            assert!(error.contains(&format!("to {first}: another process")), "{error}");
            assert_eq!(check(&placement, 1, true, true), Ok(()), "its one CPU is still there");
        })
        .join()
        .unwrap();
    }
}
