//! A cache behaves as a list in the order of use: it has the same buffers and the same limit, and
//! reclaims the same buffers.

use super::{ForEach, Random, cache, every_combination};
use lockyard::Native;
use lockyard_tables::buffers::{
    Block, BlockCache, Configuration, GetError, Groups, Key, Promote, Switches,
};

/// The expected state of a buffer.
struct Item {
    key: Key,
    value: u64,
    found: bool,
}

/// The expected state of the cache: buffers in the order of use, the most recent first.
struct Model {
    items: Vec<Item>,
    limit: u64,
    moves: bool,
}

type Held<'c, S> = Vec<(Block<'c, u64, S, Native>, u64)>;

impl Model {
    fn find(&self, key: Key) -> Option<usize> {
        self.items.iter().position(|item| item.key == key)
    }

    fn move_to_front(&mut self, index: usize) {
        let item = self.items.remove(index);
        self.items.insert(0, item);
    }

    fn hit(&mut self, index: usize) -> u64 {
        let value = self.items[index].value;
        self.items[index].found = true;
        if self.moves {
            self.move_to_front(index);
        }
        value
    }

    fn insert(&mut self, key: Key, value: u64) {
        self.items.insert(0, Item { key, value, found: false });
    }

    /// Number of buffers, including those that are only held by handles.
    fn living<S: Switches<Native>>(&self, held: &Held<'_, S>) -> u64 {
        let mut outside: Vec<u64> = held.iter().map(|(_, value)| *value).collect();
        outside.sort_unstable();
        outside.dedup();
        outside.retain(|value| self.items.iter().all(|item| item.value != *value));
        (self.items.len() + outside.len()) as u64
    }

    fn unused<S: Switches<Native>>(&self, held: &Held<'_, S>) -> usize {
        self.items.iter().filter(|item| held.iter().all(|(_, value)| *value != item.value)).count()
    }

    /// Reclaims as if the cache had only one list.
    fn reclaim<S: Switches<Native>>(&mut self, wanted: usize, held: &Held<'_, S>) -> usize {
        let mut freed = 0;
        for _ in 0..if self.moves { 2 } else { 3 } {
            for _ in 0..self.items.len() {
                if freed == wanted {
                    return freed;
                }
                let last = self.items.len() - 1;
                let spared = !self.moves && std::mem::take(&mut self.items[last].found);
                let value = self.items[last].value;
                if spared || held.iter().any(|(_, held)| *held == value) {
                    self.move_to_front(last);
                } else {
                    self.items.pop();
                    freed += 1;
                }
            }
        }
        freed
    }

    /// Makes room for one buffer; returns true if there is room.
    fn reserve<S: Switches<Native>>(&mut self, held: &Held<'_, S>) -> bool {
        while self.living(held) >= self.limit {
            if self.reclaim(1, held) == 0 {
                return false;
            }
        }
        true
    }
}

/// Performs random operations on a cache with one list, whose state is known exactly.
// Longer than a screen, because it has one arm for each operation.
fn behaves<S: Switches<Native>>(cache: &BlockCache<u64, S, Native>, seed: u64) {
    let name = format!("{cache:?}");
    let mut random = Random(seed);
    let mut model = Model {
        items: Vec::new(),
        limit: cache.limit(),
        moves: S::Promote::NAME == "move-to-front",
    };
    let mut held: Held<'_, S> = Vec::new();
    for step in 0..3_000u64 {
        let at = format!("{name} seed {seed} step {step}");
        let key = Key::new(random.below(3) as u32, random.below(8));
        let there = model.find(key);
        match random.below(12) {
            0..4 => {
                let fails = random.below(5) == 0;
                let got = cache.get_or_fill(key, || if fails { Err(step) } else { Ok(step) });
                let expected = match there {
                    Some(index) => Ok(model.hit(index)),
                    None if !model.reserve(&held) => Err(GetError::Full),
                    None if fails => Err(GetError::Fill(step)),
                    None => {
                        model.insert(key, step);
                        Ok(step)
                    }
                };
                assert_eq!(got.as_deref().copied().map_err(|error| *error), expected, "{at}");
                if let Ok(buffer) = got
                    && random.below(4) == 0
                {
                    assert!(*buffer.key() == key && buffer.is_cached(), "{at}");
                    let value = *buffer;
                    held.push((buffer, value));
                }
            }
            4..7 => {
                let found = cache.look_up(key);
                let expected = there.map(|index| model.hit(index));
                assert_eq!(found.as_deref().copied(), expected, "{at}");
            }
            7 => {
                let removed = cache.remove(key);
                let expected = there.map(|index| model.items.remove(index).value);
                assert_eq!(removed.as_deref().copied(), expected, "{at}");
                if let Some(removed) = removed {
                    assert!(!removed.is_cached() && !removed.remove(), "{at}");
                    if random.below(2) == 0 {
                        let value = *removed;
                        held.push((removed, value));
                    }
                }
            }
            8 => {
                let wanted = random.below(6) as usize;
                assert_eq!(cache.reclaim(wanted), model.reclaim(wanted, &held), "{at}");
            }
            9 | 10 if !held.is_empty() => {
                let index = random.below(held.len() as u64) as usize;
                let (buffer, value) = &held[index];
                assert_eq!(**buffer, *value, "{at}");
                let cached = model.items.iter().position(|item| item.value == *value);
                assert_eq!(buffer.is_cached(), cached.is_some(), "{at}");
                match random.below(3) {
                    0 => {
                        assert_eq!(buffer.remove(), cached.is_some(), "{at}");
                        cached.map(|index| model.items.remove(index));
                    }
                    1 => held.push((buffer.clone(), *value)),
                    _ => drop(held.swap_remove(index)),
                }
            }
            _ if random.below(20) == 0 => {
                model.limit = 4 + random.below(16);
                cache.set_limit(model.limit);
            }
            _ => {}
        }
        assert_eq!(cache.len(), model.items.len(), "{at}");
        assert_eq!(cache.living(), model.living(&held), "{at}");
        assert_eq!(cache.referenced(), model.items.len() - model.unused(&held), "{at}");
    }
    drop(held);
    assert_eq!(cache.reclaim(usize::MAX), model.items.len(), "{name}");
    assert_eq!((cache.len(), cache.living()), (0, 0), "{name}");
}

struct OneList;

impl ForEach for OneList {
    fn with<S: Switches<Native>>(&mut self) {
        let one = Configuration::DEFAULT.with_groups(Groups::MIN);
        for seed in 1..=3 {
            behaves::<S>(&cache(one), seed);
            behaves::<S>(&cache(one.with_limit(7)), seed);
        }
    }
}

#[test]
fn a_cache_of_one_list_behaves_as_the_list() {
    every_combination::<0>(OneList);
}

/// Performs random operations on a cache with several lists. Only the number of reclaimed buffers
/// is known, not which ones.
fn keeps_what_is_used<S: Switches<Native>>(cache: &BlockCache<u64, S, Native>, seed: u64) {
    let name = format!("{cache:?}");
    let mut random = Random(seed);
    let mut model = std::collections::HashMap::new();
    let mut held: Held<'_, S> = Vec::new();
    for step in 0..4_000u64 {
        let at = format!("{name} seed {seed} step {step}");
        let key = Key::new(random.below(40) as u32, random.below(40));
        match random.below(8) {
            0..5 => {
                let got = cache.get_or_fill(key, || Ok::<_, ()>(step)).unwrap();
                let value = *model.entry(key).or_insert(step);
                assert_eq!(*got, value, "{at}");
                if random.below(16) == 0 {
                    held.push((got, value));
                }
            }
            5 => {
                let removed = cache.remove(key);
                assert_eq!(removed.as_deref().copied(), model.remove(&key), "{at}");
            }
            6 => {
                held.truncate(random.below(80) as usize);
            }
            _ if random.below(20) > 0 => {}
            _ => {
                let used: Vec<Key> =
                    held.iter().filter(|(b, _)| b.is_cached()).map(|(b, _)| *b.key()).collect();
                let unused = model.keys().filter(|key| !used.contains(key)).count();
                let wanted = random.below(400) as usize;
                assert_eq!(cache.reclaim(wanted), wanted.min(unused), "{at}");
                model.retain(|&key, value| {
                    let there = cache.look_up(key);
                    assert!(there.as_deref().is_none_or(|there| there == value), "{at}");
                    assert!(there.is_some() || !used.contains(&key), "{at}: reclaimed in use");
                    there.is_some()
                });
            }
        }
        assert_eq!(cache.len(), model.len(), "{at}");
    }
    for (key, value) in &model {
        assert_eq!(cache.look_up(*key).as_deref(), Some(value), "{name}");
    }
}

struct SeveralLists;

impl ForEach for SeveralLists {
    fn with<S: Switches<Native>>(&mut self) {
        for seed in 1..=2 {
            keeps_what_is_used::<S>(&cache(Configuration::DEFAULT), seed);
        }
    }
}

#[test]
fn a_cache_of_many_lists_keeps_what_is_used_and_finds_what_it_keeps() {
    every_combination::<2>(SeveralLists);
    every_combination::<8>(SeveralLists);
}

#[test]
fn switches_and_indices_have_the_names_of_the_tables() {
    struct Names(Vec<String>);
    impl ForEach for &mut Names {
        fn with<S: Switches<Native>>(&mut self) {
            self.0.push(format!("{:?}", cache::<u64, S>(Configuration::DEFAULT)));
        }
    }
    let mut names = Names(Vec::new());
    every_combination::<8>(&mut names);
    names.0.sort_unstable();
    names.0.dedup();
    assert_eq!(names.0.len(), 24);
    let standard =
        format!("{:?}", cache::<u64, lockyard_tables::buffers::Standard>(Configuration::DEFAULT));
    for name in ["on-miss", "outside", "referenced-bit", "wide-hash"] {
        assert!(standard.contains(name), "{standard}");
    }
    let before =
        format!("{:?}", cache::<u64, lockyard_tables::buffers::Before>(Configuration::DEFAULT));
    for name in ["every-call", "under-lock", "move-to-front", "hash-256"] {
        assert!(before.contains(name), "{before}");
    }
    let name =
        <lockyard_tables::buffers::TreePerGroup as lockyard_tables::buffers::Index<Native>>::NAME;
    assert_eq!(name, "tree-per-group");
}
