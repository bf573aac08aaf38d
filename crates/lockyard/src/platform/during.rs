//! Runs a function as an activity that the host accounts for.

use super::activity::Activity;
use super::host::Host;

/// Runs `body` as `activity`. If `body` unwinds, the host is not told that the activity ended.
#[inline(always)]
pub fn during<H: Host, R>(activity: impl Into<Activity>, body: impl FnOnce() -> R) -> R {
    let before = H::begin_activity(activity.into());
    let result = body();
    H::resume_activity(before);
    result
}
