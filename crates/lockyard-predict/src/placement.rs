//! Placement of tasks on a simulated machine.

use lockyard_scenarios::Order;
use lockyard_sim::Machine;
use lockyard_support::{InputError, hint, printable, threads as in_words};

/// Placement of tasks on a simulated machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MachinePlacement {
    /// An order that exists on every machine.
    Order(Order),
    /// A list of hardware threads, numbered as in [`Machine::place`].
    List(Vec<usize>),
}

impl MachinePlacement {
    /// Parses a placement: a name (`fill`, `siblings-last`, `spread`, `unpinned`), or a list of
    /// hardware threads such as `0,24,1`.
    ///
    /// # Errors
    ///
    /// If the text is neither, or if the list has a hardware thread twice or one that `machine`
    /// does not have.
    pub fn parse(text: &str, machine: &Machine) -> Result<MachinePlacement, InputError> {
        if let Some(order) = Order::ALL.into_iter().find(|order| order.name() == text) {
            return Ok(MachinePlacement::Order(order));
        }
        let mut list = Vec::new();
        for part in text.split(',') {
            let Ok(place) = part.trim().parse::<usize>() else {
                let hint = hint(text, &Order::ALL.map(Order::name), "allowed");
                let text = printable(text);
                return Err(InputError(format!(
                    "--placement: `{text}` is not a placement; \
                     {hint} (or a list of hardware threads, such as 0,1)"
                )));
            };
            let all = machine.hardware_threads();
            if place >= all {
                let last = all - 1;
                let name = machine.name();
                return Err(InputError(format!(
                    "--placement: machine `{name}` has no hardware thread {place}; allowed: \
                     0 to {last}"
                )));
            }
            if list.contains(&place) {
                return Err(InputError(format!("--placement lists hardware thread {place} twice")));
            }
            list.push(place);
        }
        Ok(MachinePlacement::List(list))
    }

    /// Returns the maximum number of tasks.
    pub fn room(&self, machine: &Machine) -> usize {
        match self {
            MachinePlacement::Order(_) => machine.hardware_threads(),
            MachinePlacement::List(list) => list.len(),
        }
    }

    /// Returns the hardware threads of `threads` tasks in the run with this seed. If there are more
    /// tasks than places, they share these.
    pub fn places(&self, machine: &Machine, threads: usize, seed: u64) -> Vec<usize> {
        let (cores, siblings) = (machine.cores(), machine.threads_per_core());
        let place = |core: usize, sibling: usize| sibling * cores + core;
        let all: Vec<usize> = match self {
            MachinePlacement::List(list) => list.clone(),
            MachinePlacement::Order(Order::SiblingsLast) => (0..cores * siblings).collect(),
            MachinePlacement::Order(Order::Fill) => (0..cores)
                .flat_map(|core| (0..siblings).map(move |sibling| place(core, sibling)))
                .collect(),
            MachinePlacement::Order(Order::Spread) => {
                let sockets = machine.sockets();
                let cores_per_socket = cores / sockets;
                let task = |task: usize| {
                    let (round, socket) = (task / sockets, task % sockets);
                    let (sibling, core) = (round / cores_per_socket, round % cores_per_socket);
                    place(socket * cores_per_socket + core, sibling)
                };
                (0..cores * siblings).map(task).collect()
            }
            MachinePlacement::Order(Order::Unpinned) => (0..siblings)
                .flat_map(|sibling| {
                    let order = shuffled(cores, seed.wrapping_mul(8).wrapping_add(sibling as u64));
                    order.into_iter().map(move |core| place(core, sibling))
                })
                .collect(),
        };
        all.into_iter().cycle().take(threads).collect()
    }

    /// Returns the placement as text for results.
    pub fn describe(&self) -> String {
        match self {
            MachinePlacement::Order(order) => order.name().to_owned(),
            MachinePlacement::List(list) => {
                let list: Vec<String> = list.iter().map(usize::to_string).collect();
                format!("hardware threads {}", list.join(","))
            }
        }
    }
}

/// Returns the numbers from 0 to `count` - 1 in random order (Fisher-Yates). The generator is
/// SplitMix64 (public domain), because results must not change with a library's version.
fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    let mut state = seed;
    let mut next = move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, (next() % (last as u64 + 1)) as usize);
    }
    order
}

/// Maximum number of tasks of a guest on one hardware thread.
pub(crate) const SHARED_BY: usize = 64;

/// Rejects numbers of threads that a machine does not have.
///
/// # Errors
///
/// If the machine has fewer hardware threads, or the number is 0.
pub fn check_threads(machine: &Machine, threads: usize) -> Result<(), InputError> {
    check_shared(machine, threads, 1)
}

/// Rejects numbers of threads that are more than `shared_by` on each hardware thread.
pub(crate) fn check_shared(
    machine: &Machine,
    threads: usize,
    shared_by: usize,
) -> Result<(), InputError> {
    let all = machine.hardware_threads() * shared_by;
    if threads == 0 || threads > all {
        return Err(InputError(format!(
            "{} on machine `{}`; allowed: 1 to {all}",
            in_words(threads),
            machine.name()
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped")
    }

    #[test]
    fn each_order_has_each_hardware_thread_once() {
        let machine = machine();
        for order in Order::ALL {
            let mut all = MachinePlacement::Order(order).places(&machine, 96, 3);
            all.sort_unstable();
            assert_eq!(all, (0..96).collect::<Vec<_>>(), "{}", order.name());
        }
    }

    #[test]
    fn tasks_are_placed_as_the_order_says() {
        let machine = machine();
        let places = |order, threads| MachinePlacement::Order(order).places(&machine, threads, 1);
        assert_eq!(places(Order::SiblingsLast, 3), [0, 1, 2]);
        assert_eq!(places(Order::Fill, 4), [0, 48, 1, 49]);
        assert_eq!(places(Order::Spread, 5), [0, 24, 1, 25, 2]);
        assert_eq!(places(Order::Spread, 96)[47..50], [47, 48, 72], "then the siblings");
        let unpinned = places(Order::Unpinned, 48);
        assert!(unpinned.iter().all(|&place| place < 48), "no sibling while a core is idle");
        assert_ne!(unpinned, MachinePlacement::Order(Order::Unpinned).places(&machine, 48, 2));
        assert_eq!(unpinned, places(Order::Unpinned, 48), "the same seed, the same places");
    }

    #[test]
    fn more_tasks_than_places_share_them_in_turn() {
        let machine = machine();
        let list = MachinePlacement::List(vec![24, 0]);
        assert_eq!(list.places(&machine, 5, 1), [24, 0, 24, 0, 24]);
        assert!(check_shared(&machine, 97, SHARED_BY).is_ok());
        let error = check_shared(&machine, 96 * SHARED_BY + 1, SHARED_BY).unwrap_err().to_string();
        assert!(error.ends_with("allowed: 1 to 6144"), "{error}");
    }

    #[test]
    fn a_list_is_taken_as_it_is_and_a_wrong_one_is_named() {
        let machine = machine();
        let list = MachinePlacement::parse("24, 0", &machine).unwrap();
        assert_eq!(list.places(&machine, 2, 9), [24, 0]);
        assert_eq!(list.room(&machine), 2);
        let error = |text| MachinePlacement::parse(text, &machine).unwrap_err().to_string();
        assert!(error("spraed").contains("did you mean `spread`?"));
        assert!(error("96").contains("has no hardware thread 96; allowed: 0 to 95"));
        assert!(error("1,1").contains("lists hardware thread 1 twice"));
    }
}
