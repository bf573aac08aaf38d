//! Explanation for the user of why the operating system does not count: its error, and the
//! properties of the host that cause it.

/// Properties of a host that explain why it does not count events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// Value of Linux's `kernel.perf_event_paranoid`.
    pub paranoid: Option<i32>,
    /// True if the kernel has found a performance monitoring unit.
    pub unit: bool,
    /// True if the processor reports a hypervisor.
    pub virtualised: bool,
}

impl Surroundings {
    /// Returns the properties of this host.
    pub fn here() -> Surroundings {
        let text = |path: &str| std::fs::read_to_string(path).ok();
        let paranoid = text("/proc/sys/kernel/perf_event_paranoid");
        // Processors with two kinds of cores have two units, and Arm names units after the model.
        let units = std::fs::read_dir("/sys/bus/event_source/devices").ok();
        let unit = units.into_iter().flatten().flatten().any(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.starts_with("cpu") || name.contains("pmu")
        });
        let flags = text("/proc/cpuinfo").unwrap_or_default();
        let virtualised = flags
            .lines()
            .find(|line| line.starts_with("flags"))
            .is_some_and(|line| line.split(' ').any(|flag| flag == "hypervisor"));
        Surroundings { paranoid: paranoid.and_then(|p| p.trim().parse().ok()), unit, virtualised }
    }
}

// Linux uses these numbers on every supported architecture except Alpha, MIPS and SPARC. On those,
// the message just shows the number.
const EPERM: i32 = 1;
const ENOENT: i32 = 2;
const EACCES: i32 = 13;
const ENODEV: i32 = 19;
const ENOSYS: i32 = 38;
const EOPNOTSUPP: i32 = 95;

/// Value of `perf_event_paranoid` from which counting needs a capability, on Debian and Ubuntu
/// kernels.
const NOBODY: i32 = 3;

/// Explains why opening a counter failed with this Linux error number: a sentence without a full
/// stop, with a remedy if there is one.
pub fn why(error: i32, host: Surroundings) -> String {
    match error {
        EPERM | EACCES => match host.paranoid {
            Some(level) if level >= NOBODY => format!(
                "kernel.perf_event_paranoid is {level}, so this process may not count (allowed at \
                 2 or less: sysctl kernel.perf_event_paranoid=2; \
                 or with the capability CAP_PERFMON)"
            ),
            _ => "this process may not count: \
              a sandbox or container forbids perf_event_open (allow it there)"
                .to_owned(),
        },
        ENOENT | ENODEV | EOPNOTSUPP if !host.unit && host.virtualised => {
            "this is a virtual machine without a performance monitoring unit (its host can give \
             it one; otherwise measure on hardware)"
                .to_owned()
        }
        ENOENT | ENODEV | EOPNOTSUPP if !host.unit => {
            "the kernel has found no performance monitoring unit".to_owned()
        }
        ENOENT | ENODEV | EOPNOTSUPP => "this processor does not count it".to_owned(),
        ENOSYS => "this kernel was built without perf events".to_owned(),
        other => std::io::Error::from_raw_os_error(other).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_answer_is_explained_by_what_the_host_is() {
        let host = Surroundings { paranoid: Some(2), unit: true, virtualised: false };
        let paranoid = Surroundings { paranoid: Some(4), ..host };
        assert!(why(EACCES, paranoid).starts_with("kernel.perf_event_paranoid is 4"));
        assert!(why(EPERM, host).contains("a sandbox or container forbids"));
        assert_eq!(why(EOPNOTSUPP, host), "this processor does not count it");
        let bare = Surroundings { unit: false, ..host };
        assert!(why(ENOENT, bare).contains("no performance monitoring unit"));
        let machine = Surroundings { virtualised: true, ..bare };
        assert!(why(ENOENT, machine).starts_with("this is a virtual machine without"));
        assert!(why(ENOSYS, host).contains("without perf events"));
        assert!(why(24, host).contains("files"), "too many open files: {}", why(24, host));
    }
}
