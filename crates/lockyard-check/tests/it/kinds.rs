//! Checks of a kind that is chosen while locks are in use. No execution uses a word as two kinds.
//! The control does, and every harness that watches for progress notices.
//!
//! See [`ChoiceProgram`] for the checks. The words of choices have no ordering stronger than
//! relaxed, so there is none to weaken.

use crate::alone::alone;
use lockyard::Native;
use lockyard::platform::checked::Checked;
use lockyard::platform::hooked::Hooked;
use lockyard_check::backends::{model, native, simulated, verdict};
use lockyard_check::explore::Bounds;
use lockyard_check::finding::Finding;
use lockyard_check::hooks::{NoFault, Scripted, Watched};
use lockyard_check::matrix::{check_pairs, must_hold};
use lockyard_check::program::ChoiceOp::{self, ChooseQueued, ChooseTestAndSet, Patch, TryUse, Use};
use lockyard_check::program::{ChoiceProgram, LockOp, LockProgram};
use lockyard_controls::TicketAsQueued;
use lockyard_sim::Simulated;

type InModel = Hooked<Checked, Scripted>;
type InThreads = Hooked<Native, Watched<NoFault>>;
type Of = ChoiceProgram<InModel>;

#[test]
fn a_choice_and_a_first_use_that_race_leave_one_kind() {
    let explored = |pair: &[ChoiceOp; 2]| must_hold::<Of>("chosen", pair, Bounds::ALL).executions;
    check_pairs("chosen", &ChoiceOp::ALL, |_, _| None, explored);
}

#[test]
fn three_and_four_threads_that_choose_and_use_leave_one_kind() {
    for ops in [
        [Use, Use, ChooseQueued],
        [Use, ChooseQueued, ChooseTestAndSet],
        [ChooseQueued, ChooseQueued, TryUse],
        [Patch, ChooseQueued, Use],
    ] {
        must_hold::<Of>("chosen", &ops, Bounds::stepping_back(2));
    }
    for ops in [[Use, Use, ChooseQueued, ChooseTestAndSet], [Use, Patch, ChooseQueued, TryUse]] {
        must_hold::<Of>("chosen", &ops, Bounds::stepping_back(2));
    }
}

/// Each side must win in some execution; otherwise the checks above would contain no race.
#[test]
fn each_side_wins_in_some_execution() {
    let (_, outcomes) = model::<Of>(&[Use, ChooseQueued], Bounds::ALL)
        .unwrap_or_else(|failed| panic!("{}", failed.caught));
    // Each thread notes its kind's number plus one: 2 is the default, ticket, and 3 is queued.
    let of_kind = |seen: i64| outcomes.iter().any(|threads| threads.iter().all(|t| *t == seen));
    assert!(of_kind(2) && of_kind(3), "ticket, the default, and queued: {outcomes:?}");
}

/// The control runs in its own process. A word that was used as a ticket lock blocks every thread,
/// even its last holder.
#[test]
fn a_used_ticket_word_that_is_taken_for_a_queued_one_is_stuck_in_every_harness() {
    const NAME: &str =
        "kinds::a_used_ticket_word_that_is_taken_for_a_queued_one_is_stuck_in_every_harness";
    alone(NAME, || {
        const USES: [LockOp; 3] = [LockOp::LockTwice; 3];
        let modelled =
            model::<LockProgram<TicketAsQueued, InModel>>(&USES, Bounds::stepping_back(1));
        let on_a_machine = simulated::<LockProgram<TicketAsQueued, Simulated>>(&USES, 1, 1);
        let in_threads = native::<LockProgram<TicketAsQueued, InThreads>>(&USES, 1, 1);
        for (name, found) in
            [("model", verdict(modelled)), ("simulated", on_a_machine), ("threads", in_threads)]
        {
            let caught =
                found.caught.as_ref().map_or("nothing".into(), |caught| caught.to_string());
            println!("ticket as queued, {name}: {caught}, {} runs", found.runs);
            assert_eq!(found.finding(), Some(Finding::Stuck), "{name}: {caught}");
            assert_eq!(found.runs, 1, "{name}: it needs no luck");
        }
    });
}
