//! Checks that a run still has its CPUs. Another process may change the allowed CPUs during a run,
//! by `taskset` or a container's cpuset. Later measurements would then differ from the request.
//! Each run therefore checks after its threads have stopped. A run that lost CPUs has no figure.

use super::affinity::allowed;
use super::placement::Placement;
use std::sync::OnceLock;

/// CPUs that the process could use when it first measured. One process measures one thing at a
/// time.
static AT_FIRST: OnceLock<Vec<usize>> = OnceLock::new();

/// Remembers, before the first run, the CPUs that the calling thread may use. The threads of a run
/// start with the same ones.
pub(crate) fn begin() {
    AT_FIRST.get_or_init(current);
}

/// Returns true if the calling thread is still pinned to `cpu`.
pub(crate) fn is_pinned_to(cpu: usize) -> bool {
    allowed().is_none_or(|cpus| cpus == [cpu])
}

/// Checks the CPUs after a run of this many threads. `pinned` says whether they could be pinned,
/// `kept` whether they stayed pinned.
///
/// # Errors
///
/// If CPUs of the run were taken away. The error names the CPUs before and after, and the remedy.
pub(crate) fn check(
    placement: &Placement,
    threads: usize,
    pinned: bool,
    kept: bool,
) -> Result<(), String> {
    let now = current();
    let at_first = AT_FIRST.get().unwrap_or(&now);
    // Unpinned threads roam over all CPUs.
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

/// Returns what happened to the CPUs of a run; `wanted` are those to which its threads were pinned.
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

/// Returns the CPUs that the calling thread may use now, ascending; always none where the system
/// does not say.
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
        // In a thread of its own, whose mask no other thread shares.
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
