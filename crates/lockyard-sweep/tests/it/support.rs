//! A small scenario, plans over it, and directories that are removed at the end of a test.

use lockyard_scenarios::LockKinds;
use lockyard_sweep::merge::{self, Format, State};
use lockyard_sweep::plan::Plan;
use lockyard_sweep::run::Runner;
use lockyard_sweep::store::Store;
use lockyard_sweep::sweep::{self, Shard, Swept};
use std::fs;
use std::path::{Path, PathBuf};

/// A scenario with several locks. `stalls` is a lock that never comes free for the second thread.
pub(crate) const SCENARIO: &str = r#"
name = "small"
work_varies = false
[[objects]]
name = "m"
kind = "lock"
lock = "queued"
[[steps]]
do = "lock"
object = "m"
[[steps]]
do = "work"
name = "held"
ns = 100
[[steps]]
do = "unlock"
object = "m"
[[steps]]
do = "work"
ns = 400
[[variants]]
name = "queued"
[[variants]]
name = "ticket"
set = [{ object = "m", lock = "ticket" }]
[[variants]]
name = "stalls"
set = [{ object = "m", lock = "stalls" }]
"#;

/// A directory of a test. Dropping this value removes it.
pub(crate) struct Directory(pub(crate) PathBuf);

impl Directory {
    pub(crate) fn new(name: &str) -> Directory {
        let path =
            std::env::temp_dir().join(format!("lockyard-sweep-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("it can be made");
        fs::write(path.join("small.toml"), SCENARIO).expect("it can be written");
        Directory(path)
    }

    /// Reads a plan that lies in this directory.
    pub(crate) fn plan(&self, text: &str) -> Result<Plan, String> {
        let path = self.0.join("plan.toml");
        fs::write(&path, text).expect("it can be written");
        let read = Plan::load(&path, &LockKinds::default());
        read.map_err(|error| error.0.replace(&format!("{}/", self.0.display()), ""))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs a shard of a plan.
pub(crate) fn run(plan: &Plan, shard: Shard, out: &Path, jobs: usize) -> Swept {
    let store = Store::create(out).expect("it can be written");
    store.write_plan(plan.bundle()).expect("it can be written");
    let runner = Runner::new(&LockKinds::default()).expect("the tables are right");
    sweep::run(plan, shard, &store, &runner, jobs, &|| ()).expect("it can be written")
}

/// Returns the merged file of a directory, and the state of its rows.
pub(crate) fn merged(out: &Path, format: Format) -> (String, State) {
    let store = Store::open(out).expect("it is a sweep");
    let plan = merge::plan(&store, &LockKinds::default()).expect("it is of this version");
    let mut text = Vec::new();
    let state = merge::write(&plan, &store, format, &mut text).expect("it can be written");
    (String::from_utf8(text).expect("it is text"), state)
}
