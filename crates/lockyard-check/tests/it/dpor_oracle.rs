//! Compares the checker that explores execution graphs with an enumeration of all graphs by the
//! axioms of the memory model, on random programs.
//!
//! The enumeration adds events in every order, with every source and every place in the order of
//! writes, and keeps the graphs that the axioms allow. It shares no code with the checker.

use lockyard::platform::{Atomics, Host, Ordering, Word};
use lockyard_check::depth::depth;
use lockyard_check::dpor::{Deletions, Dpor, DporAtomics, DporWord, Exploration, Model, explore};
use lockyard_check::finding::{Caught, Finding, catching};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::panic::AssertUnwindSafe;
use std::rc::Rc;

use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use Step::{Add, CompareExchange, Fence, Load, OnlyIf, Store, WaitAtLeast, WaitFor};

/// Step of a thread. A word is named by its number.
#[derive(Clone, Copy, Debug)]
enum Step {
    Store(usize, u32, Ordering),
    Load(usize, Ordering),
    Add(usize, u32, Ordering),
    CompareExchange(usize, u32, u32, Ordering),
    Fence(Ordering),
    WaitAtLeast(usize, u32, Ordering),
    WaitFor(usize, u32, Ordering),
    /// Ends the thread unless the read at this step had this value.
    OnlyIf(usize, u32),
}

/// The steps of each thread.
type Code = Vec<Vec<Step>>;

const WORDS: usize = 2;

/// Values that the threads read, by thread and step, and the last value of each word.
type Outcome = (BTreeMap<(usize, usize), u32>, Vec<u32>);

fn acquires(order: Ordering) -> bool {
    matches!(order, Acquire | AcqRel | SeqCst)
}

fn releases(order: Ordering) -> bool {
    matches!(order, Release | AcqRel | SeqCst)
}

#[derive(Clone, Debug)]
struct Event {
    thread: usize,
    step: usize,
    /// `None` for fences.
    word: Option<usize>,
    /// The write that a read reads from; `Some(None)` is the initial value.
    source: Option<Option<usize>>,
    /// The value that a write stores.
    stored: Option<u32>,
    order: Ordering,
}

/// A graph, and the next step of each thread.
#[derive(Clone, Debug)]
struct Graph {
    events: Vec<Event>,
    /// The writes of each word, in modification order.
    writes: Vec<Vec<usize>>,
    next: Vec<usize>,
    read: BTreeMap<(usize, usize), u32>,
}

/// A relation between events.
type Relation = Vec<Vec<bool>>;

fn relation(events: usize, holds: impl Fn(usize, usize) -> bool) -> Relation {
    (0..events).map(|a| (0..events).map(|b| holds(a, b)).collect()).collect()
}

fn close(relation: &mut Relation) {
    let all = relation.len();
    for k in 0..all {
        for a in 0..all {
            for b in 0..all {
                relation[a][b] |= relation[a][k] && relation[k][b];
            }
        }
    }
}

fn has_no_cycle(closed: &Relation) -> bool {
    (0..closed.len()).all(|a| !closed[a][a])
}

impl Graph {
    fn value(&self, write: Option<usize>) -> u32 {
        write.map_or(0, |write| self.events[write].stored.expect("it is a write"))
    }

    fn position(&self, write: Option<usize>) -> usize {
        write.map_or(0, |write| {
            let word = self.events[write].word.expect("it is a write");
            1 + self.writes[word].iter().position(|&w| w == write).expect("it is in the order")
        })
    }

    /// Events that synchronise: the events with the release of a write in the release sequence that
    /// a read reads from, and the events with the acquire of that read.
    fn synchronise(&self, happens: &mut Relation) {
        let events = &self.events;
        let before = |a: usize, b: usize| {
            events[a].thread == events[b].thread && events[a].step < events[b].step
        };
        let fences = |is: fn(Ordering) -> bool| {
            (0..events.len()).filter(move |&f| events[f].word.is_none() && is(events[f].order))
        };
        for read in 0..events.len() {
            let mut write = events[read].source.flatten();
            let mut heads = Vec::new();
            while let Some(head) = write {
                if releases(events[head].order) {
                    heads.push(head);
                }
                heads.extend(fences(releases).filter(|&fence| before(fence, head)));
                // A read-modify-write continues the sequence of the write that it read.
                write = events[head].source.flatten();
            }
            let mut tails: Vec<usize> =
                fences(acquires).filter(|&fence| before(read, fence)).collect();
            if acquires(events[read].order) {
                tails.push(read);
            }
            for &head in &heads {
                for &tail in &tails {
                    happens[head][tail] = true;
                }
            }
        }
    }

    fn is_consistent(&self) -> bool {
        let events = &self.events;
        let all = events.len();
        let mut happens = relation(all, |a, b| {
            events[a].thread == events[b].thread && events[a].step < events[b].step
        });
        self.synchronise(&mut happens);
        close(&mut happens);
        let mut coherence = relation(all, |a, b| {
            let (first, second) = (&events[a], &events[b]);
            if a == b || first.word.is_none() || first.word != second.word {
                return false;
            }
            let follows = second.stored.is_some()
                && (first.stored.is_some() && self.position(Some(a)) < self.position(Some(b))
                    || first.source.is_some_and(|s| self.position(s) < self.position(Some(b))));
            follows || first.stored.is_some() && second.source == Some(Some(a))
        });
        close(&mut coherence);
        let is_atomic = (0..all).all(|event| match events[event] {
            Event { source: Some(source), stored: Some(_), .. } => {
                self.position(Some(event)) == self.position(source) + 1
            }
            _ => true,
        });
        let agree = (0..all).all(|a| (0..all).all(|b| !(happens[a][b] && coherence[b][a])));
        let fences: Vec<usize> =
            (0..all).filter(|&f| events[f].word.is_none() && events[f].order == SeqCst).collect();
        let mut ordered = relation(fences.len(), |i, j| {
            let (first, second) = (fences[i], fences[j]);
            happens[first][second]
                || (0..all).any(|a| {
                    happens[first][a] && (0..all).any(|b| coherence[a][b] && happens[b][second])
                })
        });
        close(&mut ordered);
        has_no_cycle(&happens)
            && has_no_cycle(&coherence)
            && is_atomic
            && agree
            && has_no_cycle(&ordered)
    }

    /// Returns every consistent graph with the next step of `thread`.
    fn with_step(&self, code: &Code, thread: usize) -> Vec<Graph> {
        let step = self.next[thread];
        let mut graphs = Vec::new();
        let mut add = |word: Option<usize>, source, stored: Option<u32>, at: usize, order| {
            let mut graph = self.clone();
            if let Some(write) = source {
                graph.read.insert((thread, step), self.value(write));
            }
            if let (Some(word), Some(_)) = (word, stored) {
                graph.writes[word].insert(at, graph.events.len());
            }
            graph.events.push(Event { thread, step, word, source, stored, order });
            graph.next[thread] += 1;
            graphs.push(graph);
        };
        let sources = |word: usize| {
            let writes = self.writes[word].iter().map(|&write| Some(write));
            std::iter::once(None).chain(writes).collect::<Vec<_>>()
        };
        match code[thread][step] {
            OnlyIf(read, value) => {
                let mut graph = self.clone();
                let goes_on = self.read.get(&(thread, read)) == Some(&value);
                graph.next[thread] = if goes_on { step + 1 } else { code[thread].len() };
                return vec![graph];
            }
            Fence(order) => add(None, None, None, 0, order),
            Store(word, value, order) => {
                for at in 0..=self.writes[word].len() {
                    add(Some(word), None, Some(value), at, order);
                }
            }
            Load(word, order) | WaitAtLeast(word, _, order) | WaitFor(word, _, order) => {
                let ends = |value: u32| !is_waiting(code[thread][step], value);
                for source in sources(word).into_iter().filter(|&s| ends(self.value(s))) {
                    add(Some(word), Some(source), None, 0, order);
                }
            }
            Add(word, more, order) => {
                for (at, source) in sources(word).into_iter().enumerate() {
                    add(Some(word), Some(source), Some(self.value(source) + more), at, order);
                }
            }
            CompareExchange(word, expected, new, order) => {
                for (at, source) in sources(word).into_iter().enumerate() {
                    let is_equal = self.value(source) == expected;
                    let order = if is_equal { order } else { Relaxed };
                    add(Some(word), Some(source), is_equal.then_some(new), at, order);
                }
            }
        }
        graphs.retain(Graph::is_consistent);
        graphs
    }

    /// The same for graphs that differ only in the order in which their events were added.
    fn key(&self) -> Vec<usize> {
        let name = |event: usize| 100 * self.events[event].thread + self.events[event].step;
        let mut sources: Vec<_> = (0..self.events.len())
            .map(|event| {
                let source = self.events[event].source;
                (name(event), source.map_or(9_001, |source| source.map_or(9_002, name)))
            })
            .collect();
        sources.sort_unstable();
        let writes = self
            .writes
            .iter()
            .flat_map(|order| std::iter::once(9_003).chain(order.iter().map(|&write| name(write))));
        let sources = sources.iter().flat_map(|&(event, source)| [event, source]);
        sources.chain(writes).chain(self.next.iter().copied()).collect()
    }

    fn outcome(&self) -> Outcome {
        let last = self.writes.iter().map(|order| self.value(order.last().copied())).collect();
        (self.read.clone(), last)
    }
}

/// Returns true if the step waits and the value does not end the wait.
fn is_waiting(step: Step, value: u32) -> bool {
    match step {
        WaitAtLeast(_, least, _) => value < least,
        WaitFor(_, wanted, _) => value != wanted,
        _ => false,
    }
}

/// Result of the enumeration.
struct All {
    graphs: usize,
    outcomes: BTreeSet<Outcome>,
    /// Threads can wait for ever.
    stuck: bool,
}

/// Enumerates the graphs of a program; `None` if there are too many.
fn enumerate(code: &Code) -> Option<All> {
    let threads = code.len();
    let (events, read) = (Vec::new(), BTreeMap::new());
    let start = Graph { events, writes: vec![Vec::new(); WORDS], next: vec![0; threads], read };
    let mut seen = HashSet::new();
    let mut all = All { graphs: 0, outcomes: BTreeSet::new(), stuck: false };
    let mut work = vec![start];
    while let Some(graph) = work.pop() {
        if seen.len() > 3_000 {
            return None;
        }
        let open: Vec<usize> =
            (0..threads).filter(|&thread| graph.next[thread] < code[thread].len()).collect();
        for &thread in &open {
            let further = graph.with_step(code, thread);
            work.extend(further.into_iter().filter(|graph| seen.insert(graph.key())));
        }
        if open.is_empty() {
            all.graphs += 1;
            all.outcomes.insert(graph.outcome());
        } else {
            all.stuck |= open.iter().all(|&thread| {
                let step = code[thread][graph.next[thread]];
                match step {
                    WaitAtLeast(word, ..) | WaitFor(word, ..) => {
                        is_waiting(step, graph.value(graph.writes[word].last().copied()))
                    }
                    _ => false,
                }
            });
        }
    }
    Some(all)
}

fn run(steps: &[Step], words: &[DporWord<u32>], mut saw: impl FnMut(usize, u32)) {
    let mut read = BTreeMap::new();
    for (index, &step) in steps.iter().enumerate() {
        let value = match step {
            Store(word, value, order) => {
                words[word].store(value, order);
                continue;
            }
            Fence(order) => {
                DporAtomics::fence(order);
                continue;
            }
            OnlyIf(at, value) if read.get(&at) == Some(&value) => continue,
            OnlyIf(..) => return,
            Load(word, order) => words[word].load(order),
            Add(word, more, order) => words[word].fetch_add(more, order),
            CompareExchange(word, expected, new, order) => words[word]
                .compare_exchange(expected, new, order, Relaxed)
                .unwrap_or_else(|actual| actual),
            WaitAtLeast(word, _, order) | WaitFor(word, _, order) => {
                Dpor::wait_until(&words[word], order, |value| !is_waiting(step, value))
            }
        };
        read.insert(index, value);
        saw(index, value);
    }
}

/// Explores the program with the checker.
fn explored(code: &Code) -> Result<(Exploration, BTreeSet<Outcome>), Caught> {
    let outcomes = Rc::new(RefCell::new(BTreeSet::new()));
    let make = || {
        let words: Rc<[DporWord<u32>]> = (0..WORDS).map(|_| DporWord::new(0)).collect();
        let read = Rc::new(RefCell::new(BTreeMap::new()));
        let threads = code.iter().cloned().enumerate().map(|(thread, steps)| {
            let (words, read) = (Rc::clone(&words), Rc::clone(&read));
            let saw = move |step, value| {
                read.borrow_mut().insert((thread, step), value);
            };
            Box::new(move || run(&steps, &words, saw)) as Box<dyn FnOnce()>
        });
        let threads = threads.collect();
        let outcomes = Rc::clone(&outcomes);
        let finish = Box::new(move || {
            let last = words.iter().map(|word| word.load(Relaxed)).collect();
            outcomes.borrow_mut().insert((read.take(), last));
        });
        Model { threads, finish }
    };
    let explored = catching(AssertUnwindSafe(|| explore(Deletions::Needed, 200_000, make)))?;
    Ok((explored, outcomes.take()))
}

/// Splitmix64 (Steele, Lea, Flood, 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (lockyard::platform::mix(self.0) >> 33) as usize % bound
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    fn step(&mut self, index: usize, words: usize, waits: bool) -> Step {
        let word = self.below(words);
        let value = self.of(&[0, 1, 1, 2, 2]);
        let (load, store) = (self.of(&[Relaxed, Acquire]), self.of(&[Relaxed, Release]));
        let exchange = self.of(&[Relaxed, Acquire, Release, AcqRel]);
        match self.below(12) {
            0..=3 => Store(word, value, store),
            4..=6 => Load(word, load),
            7 => Add(word, 1, exchange),
            8 => CompareExchange(word, self.of(&[0, 1]), value, exchange),
            9 => Fence(self.of(&[SeqCst, SeqCst, Acquire, Release])),
            10 if waits && value == 1 => WaitAtLeast(word, 1, load),
            10 if waits => WaitFor(word, self.of(&[1, 2]), load),
            11 if index > 0 => OnlyIf(index - 1, self.of(&[0, 1])),
            _ => Load(word, load),
        }
    }

    fn code(&mut self, waits: bool) -> Code {
        let words = 1 + self.below(WORDS);
        let threads = 2 + self.below(3);
        let mut thread = || {
            let steps = 1 + self.below(3);
            (0..steps).map(|index| self.step(index, words, waits)).collect()
        };
        (0..threads).map(|_| thread()).collect()
    }
}

/// Compares both on programs of this seed. Returns the number of programs compared.
fn compare(seed: u64, programs: usize, waits: bool) -> usize {
    let mut random = Random(seed);
    let mut compared = 0;
    for _ in 0..programs {
        let code = random.code(waits);
        let Some(all) = enumerate(&code) else { continue };
        compared += 1;
        match explored(&code) {
            Ok((explored, outcomes)) => {
                assert!(!all.stuck, "threads can wait for ever: {code:?}");
                assert_eq!(outcomes, all.outcomes, "{code:?}");
                let executions = explored.executions as usize;
                // Waits may repeat an execution.
                assert!(executions >= all.graphs, "{executions} of {}: {code:?}", all.graphs);
                if !waits {
                    assert_eq!(executions, all.graphs, "{code:?}");
                }
            }
            Err(caught) => {
                assert!(all.stuck && caught.finding == Finding::Stuck, "{caught}: {code:?}");
            }
        }
    }
    compared
}

/// Number of programs of each test.
fn programs() -> usize {
    depth(150, 3_000)
}

#[test]
fn every_graph_of_a_program_without_waits_is_explored_once() {
    let compared = compare(1, programs(), false);
    assert!(compared > programs() / 2, "{compared}");
}

#[test]
fn every_graph_of_a_program_with_waits_is_explored() {
    let compared = compare(2, programs(), true);
    assert!(compared > programs() / 2, "{compared}");
}
