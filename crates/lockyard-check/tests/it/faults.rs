//! Proof that each primitive has only one source. A wrong step is injected through the platform,
//! and each of the three back-ends notices it.
//!
//! The table is primitive x wrong step x back-end. Each cell runs one program with the same source
//! of the primitive. Only the host differs. Without a wrong step no back-end finds anything.

use crate::alone::alone;
use lockyard_check::backends::{Search, Verdict, check_model, check_natively, check_simulated};
use lockyard_check::finding::Finding;
use lockyard_check::hooks::{
    Fault, LostAddition, LostChoice, LostExchange, LostRelease, LostSet, NoFault, SkippedWait,
};
use lockyard_check::primitives::{
    ChosenLate, LockrefQueued, LockrefTas, LockrefTicket, Primitive, QueuedPortable, Ticket8, locks,
};

/// Expected findings on each back-end. An empty list (`&[]`) means none; otherwise one of the
/// listed findings.
#[derive(Clone, Copy)]
struct Expected {
    native: &'static [Finding],
    simulated: &'static [Finding],
    model: &'static [Finding],
    why: &'static str,
}

const fn same(findings: &'static [Finding], why: &'static str) -> Expected {
    Expected { native: findings, simulated: findings, model: findings, why }
}

fn row<P: Primitive, F: Fault>(expected: Expected) -> usize {
    type Run = fn(Search) -> Verdict;
    let back_ends: [(&str, Run, &[Finding]); 3] = [
        ("native", check_natively::<P, F>, expected.native),
        ("simulated", check_simulated::<P, F>, expected.simulated),
        ("model", check_model::<P, F>, expected.model),
    ];
    let mut wrong = 0;
    for (name, run, allowed) in back_ends {
        let search = if allowed.is_empty() { Search::Briefly } else { Search::UntilFound };
        let verdict = run(search);
        let right = match verdict.finding() {
            None => allowed.is_empty(),
            Some(finding) => allowed.contains(&finding),
        };
        let found = verdict.caught.map_or("nothing".into(), |caught| caught.to_string());
        println!("| {} | {} | {name} | {found} | {} |", P::NAME, F::NAME, verdict.runs);
        if !right {
            println!("^^^ expected {allowed:?}");
            wrong += 1;
        }
    }
    println!("|  | {} |  |  |  |", expected.why);
    wrong
}

const RIGHT: Expected = same(&[], "no step is wrong");

const STUCK: Expected = same(&[Finding::Stuck], "who waits for the release waits for ever");

const WAKE_UP_LOST: Expected =
    same(&[Finding::Stuck], "the release does not learn that somebody is parked, and kicks nobody");

/// Two holders at a time. Threads find the other holder's stamp, or a count that changed under the
/// lock. A model finds the unordered accesses, or two writers of one part of the word.
const ENTERED: Expected = Expected {
    native: &[Finding::Exclusion, Finding::Count],
    simulated: &[Finding::Exclusion, Finding::Count],
    model: &[Finding::Exclusion, Finding::Race, Finding::Assertion, Finding::Count],
    why: "who should wait enters beside the holder",
};

const TWO_KINDS: Expected =
    same(&[Finding::Kinds], "one thread uses the word as one kind, another as another");

const MISCOUNTED: Expected = same(&[Finding::Count], "references were counted that are not there");

/// A broken queue. The first symptom depends on the schedule. It can be two holders, or the lock's
/// own assertion that no thread overtakes the head of its queue. Or a node is handed on too early,
/// and its owner never gets its turn.
const QUEUE_BROKEN: Expected = same(
    &[Finding::Exclusion, Finding::Race, Finding::Assertion, Finding::Count, Finding::Stuck],
    "who should wait enters beside the holder, and the queue is in disorder",
);

/// Lost exchanges: those that take the lock, and those that change the count.
const QUEUE_BROKEN_OR_MISCOUNTED: Expected = Expected {
    why: "who should wait enters beside the holder, or references were counted that are not there",
    ..QUEUE_BROKEN
};

const ONLY_A_HINT: Expected = Expected {
    native: &[],
    simulated: &[],
    model: &[Finding::Stuck],
    why: "the read-modify-write after the wait decides, so nothing breaks; but the loop no longer \
          waits, and a model, which promises no thread its turn, says so",
};

#[test]
fn every_back_end_notices_a_wrong_step_in_every_primitive() {
    const NAME: &str = "faults::every_back_end_notices_a_wrong_step_in_every_primitive";
    alone(NAME, || {
        println!("| primitive | wrong step | back-end | found | runs |");
        println!("|---|---|---|---|---|");
        let mut wrong = 0;
        // `locks.rs` checks the locks whose waiters sleep.
        macro_rules! right {
            (sleep $kind:ident) => {};
            ($waits:ident $kind:ident) => {
                wrong += row::<locks::$kind, NoFault>(RIGHT);
            };
        }
        macro_rules! each {
            ($($kind:ident {
                name: $name:literal, title: $title:literal, lock: $lock:ty, waits: $waits:ident,
                $($fact:tt)*
            })*) => { $(right!($waits $kind);)* };
        }
        // These rows come first. A thread that is stopped while it waits leaves its node in use,
        // for the next thread with its slot.
        lockyard::for_each_lock!(each);
        wrong += [
            row::<QueuedPortable, NoFault>(RIGHT),
            row::<LockrefQueued, NoFault>(RIGHT),
            row::<locks::Mcs, LostRelease>(STUCK),
            row::<ChosenLate, NoFault>(RIGHT),
            row::<ChosenLate, LostChoice>(TWO_KINDS),
            row::<locks::Ticket, LostRelease>(STUCK),
            row::<locks::Ticket, SkippedWait>(ENTERED),
            row::<Ticket8, NoFault>(RIGHT),
            row::<Ticket8, LostRelease>(STUCK),
            row::<Ticket8, SkippedWait>(ENTERED),
            row::<locks::TicketAsmLoop, LostRelease>(STUCK),
            row::<locks::TicketAsmLoop, SkippedWait>(ENTERED),
            row::<locks::TestAndSet, LostRelease>(STUCK),
            row::<locks::TestAndSet, SkippedWait>(ONLY_A_HINT),
            row::<locks::TestAndSet, LostSet>(ENTERED),
            row::<locks::Queued, LostRelease>(STUCK),
            row::<locks::Queued, SkippedWait>(QUEUE_BROKEN),
            row::<locks::Queued, LostExchange>(QUEUE_BROKEN),
            row::<locks::QueuedCmpxchgGrab, LostRelease>(STUCK),
            row::<LockrefQueued, LostRelease>(STUCK),
            row::<LockrefQueued, LostExchange>(QUEUE_BROKEN_OR_MISCOUNTED),
            row::<locks::PvTicket, LostSet>(WAKE_UP_LOST),
            row::<locks::PvTicket, LostAddition>(STUCK),
            row::<locks::PvQueued, LostAddition>(STUCK),
            row::<LockrefTicket, NoFault>(RIGHT),
            row::<LockrefTicket, LostRelease>(STUCK),
            row::<LockrefTicket, SkippedWait>(ENTERED),
            row::<LockrefTicket, LostExchange>(MISCOUNTED),
            row::<LockrefTas, NoFault>(RIGHT),
            row::<LockrefTas, LostRelease>(STUCK),
            row::<LockrefTas, SkippedWait>(ONLY_A_HINT),
            row::<LockrefTas, LostSet>(ENTERED),
            row::<LockrefTas, LostExchange>(MISCOUNTED),
        ]
        .into_iter()
        .sum::<usize>();
        assert!(wrong == 0, "{wrong} back-ends did not say what they should; see the table");
    });
}
