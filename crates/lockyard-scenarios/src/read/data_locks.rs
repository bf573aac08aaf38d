//! Checks the locks around data. If a step writes data, all accesses to it must hold one common
//! lock.

use super::names::Context;
use super::source::Result;
use crate::model::{ObjectKind, Step};

/// Calls `see` for each access to `object`. The arguments are `true` for a write, and the locks
/// held.
fn accesses(
    steps: &[Step],
    object: usize,
    held: &mut Vec<usize>,
    see: &mut impl FnMut(bool, &[usize]),
) {
    for step in steps {
        match step {
            Step::Read { object: o } if *o == object => see(false, held),
            Step::Write { object: o } if *o == object => see(true, held),
            Step::Locked { object: lock, steps, .. } => {
                held.push(*lock);
                accesses(steps, object, held, see);
                held.pop();
            }
            step => {
                if let Some(steps) = step.inner() {
                    accesses(steps, object, held, see);
                }
            }
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
        accesses(steps, index, &mut Vec::new(), &mut |write, held| {
            written |= write;
            match &mut common {
                None => common = Some(held.to_vec()),
                Some(common) => common.retain(|lock| held.contains(lock)),
            }
        });
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
