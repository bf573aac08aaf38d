//! Checks the locks around data. If a step writes data, all accesses to it must hold one common
//! lock, and all that write must hold it with exclusive access.

use super::names::Context;
use super::source::Result;
use crate::model::{Access, Effect, ObjectKind, Step};

/// Calls `see` for each access to `object`. The arguments are `true` for a write, and the locks
/// held.
fn accesses(
    steps: &[Step],
    object: usize,
    held: &mut Vec<(usize, Access)>,
    see: &mut impl FnMut(bool, &[(usize, Access)]),
) {
    for step in steps {
        match step {
            Step::Locked { object: lock, access, steps, .. } => {
                held.push((*lock, *access));
                accesses(steps, object, held, see);
                held.pop();
            }
            step => match (step.inner(), step.effect()) {
                (Some(steps), _) => accesses(steps, object, held, see),
                (None, Some((used, Effect::Reads))) if used == object => see(false, held),
                (None, Some((used, Effect::Writes))) if used == object => see(true, held),
                _ => {}
            },
        }
    }
}

/// Checks the locks around all data of a variant.
pub(super) fn check(context: Context, steps: &[Step]) -> Result<()> {
    for (index, object) in context.objects.iter().enumerate() {
        if object.kind != ObjectKind::Data {
            continue;
        }
        let mut written = false;
        let mut common: Option<Vec<usize>> = None;
        let mut beside_readers = false;
        accesses(steps, index, &mut Vec::new(), &mut |write, held| {
            written |= write;
            let suffices = |access: Access| !write || access == Access::Exclusive;
            let sufficient = held.iter().filter(|(_, access)| suffices(*access));
            let sufficient: Vec<usize> = sufficient.map(|(lock, _)| *lock).collect();
            beside_readers |= sufficient.is_empty() && !held.is_empty();
            match &mut common {
                None => common = Some(sufficient),
                Some(common) => common.retain(|lock| sufficient.contains(lock)),
            }
        });
        if beside_readers {
            return Err(context.source.error(
                context.variant.span(),
                format!(
                    "in variant `{}` the data `{}` is written under `lock-shared`, beside other \
                     readers; write it under `lock`",
                    context.variant.get_ref(),
                    object.name
                ),
            ));
        }
        if written && common.is_none_or(|locks| locks.is_empty()) {
            return Err(context.source.error(
                context.variant.span(),
                format!(
                    "in variant `{}` the data `{}` is written, and not always accessed under one \
                     lock; take a lock around it, or make it a word",
                    context.variant.get_ref(),
                    object.name
                ),
            ));
        }
    }
    Ok(())
}
