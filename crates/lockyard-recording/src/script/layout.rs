//! Objects of a recorded program: its locks, and the data that comes with them.

use super::version::{Change, HostNumbers, Version};
use crate::model::{Model, Moved};
use crate::recording::{Kind, Recording};
use lockyard_scenarios::{LockKind, Object, ObjectKind};
use std::collections::{HashMap, HashSet};

/// Maximum number of lines of data that a hold moves.
const MOST_LINES: f64 = 16.0;

/// Objects of a variant.
#[derive(Debug, Default)]
pub(super) struct Layout {
    pub(super) objects: Vec<Object>,
    /// Objects of each group's locks, with their weights.
    pub(super) locks: Vec<Vec<(usize, f64)>>,
    /// Words of each group's data.
    data: Vec<Vec<usize>>,
    /// Number of these that exclusive sections move, and that shared ones read.
    moved: Vec<[usize; 2]>,
    /// Names of the objects.
    names: HashSet<String>,
}

impl Layout {
    pub(super) fn of(
        recording: &Recording,
        model: &Model,
        host: HostNumbers,
        version: Version,
    ) -> Layout {
        let mut layout = Layout::default();
        let mut lines: HashMap<u64, usize> = HashMap::new();
        let mut count = 0;
        let mut new_line = || {
            count += 1;
            count - 1
        };
        for (index, group) in model.groups.iter().enumerate() {
            let recorded = match group.kind {
                Kind::Spin => LockKind::TestAndSet,
                Kind::Mutex => LockKind::PthreadLike,
                Kind::RwLock => LockKind::PthreadReadWrite,
            };
            let is_changed = version.change.reads_mostly(index);
            let lock = if is_changed { LockKind::PthreadReadWrite } else { recorded };
            let kind = ObjectKind::Lock { lock };
            if version.change.removes(index) {
                layout.locks.push(Vec::new());
                layout.data.push(Vec::new());
                layout.moved.push([0; 2]);
                continue;
            }
            let mut locks = Vec::new();
            for (lock, acquisitions) in group.replayed() {
                for part in 0..version.change.parts(index) {
                    let shared = recording.about.locks[lock as usize].line;
                    let line = match version.change {
                        Change::OwnLines | Change::Split(..) if part > 0 => new_line(),
                        Change::OwnLines => new_line(),
                        _ => *lines.entry(shared).or_insert_with(&mut new_line),
                    };
                    locks.push((layout.objects.len(), acquisitions as f64));
                    let name = layout.name(&group.name);
                    layout.objects.push(Object { name, kind, line });
                }
            }
            let mut moved = [false, true].map(|shared| data_lines(group.moved(shared), host));
            if is_changed {
                moved[1] = moved[0];
            }
            if locks.len() > 1 {
                moved = [0; 2];
            }
            let words = if group.kind == Kind::RwLock { moved[0].max(moved[1]) } else { moved[0] };
            let word = ObjectKind::Word { initial: 0, gains: None };
            let mut data = Vec::new();
            for _ in 0..words {
                data.push(layout.objects.len());
                let name = layout.name(&format!("data of {}", group.name));
                layout.objects.push(Object { name, kind: word, line: new_line() });
            }
            layout.locks.push(locks);
            layout.data.push(data);
            layout.moved.push(moved);
        }
        layout
    }

    /// Returns the words of data that a section of a group moves, or reads if it is shared.
    pub(super) fn data(&self, group: u32, shared: bool) -> &[usize] {
        let data = &self.data[group as usize];
        &data[..self.moved[group as usize][usize::from(shared)].min(data.len())]
    }

    /// Returns a name that no object has, for the next one.
    fn name(&mut self, wanted: &str) -> String {
        if self.names.insert(wanted.to_owned()) {
            return wanted.to_owned();
        }
        let name = format!("{wanted} ({})", self.objects.len());
        self.names.insert(name.clone());
        name
    }
}

/// Returns the number of lines of data that come to a section from another thread. If that is not
/// known, because the lock stayed with one thread, or nobody wrote, one line.
fn data_lines(moved: Moved, host: HostNumbers) -> usize {
    match moved.data {
        Some(data) if host.line > 0.0 => (data / host.line).round().min(MOST_LINES) as usize,
        Some(_) => 0,
        None => 1,
    }
}
