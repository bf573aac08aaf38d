//! Targets for the tables: a program of operations, each compared with the same operation on a
//! simple model. The bytes are the program, so a fuzzer can make them.
//!
//! `corpus.rs` replays committed programs.

use lockyard_tables::buffers::{Configuration, GetError, Key};
use lockyard_tables::connections::{Bits, Direction, NEVER, Tuple, Why};
use lockyard_tables::handle_table::{Handle, InsertError};
use lockyard_tables::{
    BlockCache, ConnectionTable, Counts, HandleTable, IdTable, LockedHandleTable, Statistics,
};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, Ipv6Addr};

/// Name of a target, and its function.
type Target = (&'static str, fn(&[u8]));

/// The targets of this file.
pub(crate) const TARGETS: &[Target] = &[
    ("id-table", id_table),
    ("handle-table", handle_table),
    ("connections", connections),
    ("buffers", buffers),
    ("statistics", statistics),
];

/// Maximum number of operations of a program.
const OPERATIONS: usize = 2_000;

/// The rest of a program.
struct Program<'a>(&'a [u8]);

impl Program<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    fn word(&mut self) -> Option<u64> {
        let (bytes, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*bytes))
    }
}

fn id_table(data: &[u8]) {
    let mut program = Program(data);
    let limit = match program.byte() {
        None => return,
        Some(0) => u32::MAX,
        Some(limit) => u32::from(limit) * 3,
    };
    let table: IdTable<u64> = IdTable::with_limit(limit);
    let mut model: BTreeMap<u32, u64> = BTreeMap::new();
    let lowest_free = |model: &BTreeMap<u32, u64>| {
        (0..)
            .zip(model.keys())
            .find(|(free, used)| free != *used)
            .map_or(model.len() as u32, |f| f.0)
    };
    for value in 0..OPERATIONS as u64 {
        let Some(operation) = program.byte() else { break };
        let id = u32::from(operation >> 2) | u32::from(program.byte().unwrap_or(0) & 1) << 6;
        match operation & 3 {
            0 | 1 => {
                let free = lowest_free(&model);
                match table.insert(value) {
                    Ok(id) => {
                        assert_eq!(id, free, "not the lowest free identifier");
                        model.insert(id, value);
                    }
                    Err(error) => {
                        assert!(free >= limit, "{error:?} below the limit of {limit}");
                        assert_eq!(error.into_inner(), value, "another value comes back");
                    }
                }
            }
            2 => assert_eq!(table.remove(id), model.remove(&id), "identifier {id}"),
            _ => match table.lock(id) {
                Some(mut entry) => {
                    assert_eq!(Some(&*entry), model.get(&id), "identifier {id}");
                    assert_eq!(entry.id(), id);
                    if value % 2 == 0 {
                        *entry = value;
                        model.insert(id, value);
                    } else if value % 5 == 0 {
                        assert_eq!(Some(entry.remove()), model.remove(&id));
                    }
                }
                None => assert_eq!(model.get(&id), None, "identifier {id}"),
            },
        }
        assert_eq!((table.len(), table.is_empty()), (model.len(), model.is_empty()));
    }
    for (&id, value) in &model {
        assert_eq!(table.lock(id).as_deref(), Some(value));
    }
}

/// The same program for both kinds of access. A removed handle is kept, and must find nothing.
fn handle_table(data: &[u8]) {
    let mut program = Program(data);
    let Some(limit) = program.byte().map(|limit| u32::from(limit) * 3) else { return };
    let shared: HandleTable<u64> = HandleTable::with_limit(limit);
    let locked: LockedHandleTable<u64> = LockedHandleTable::with_limit(limit);
    let mut handles: Vec<[Handle; 2]> = Vec::new();
    let mut model: BTreeMap<usize, u64> = BTreeMap::new();
    for value in 0..OPERATIONS as u64 {
        let (Some(operation), Some(which)) = (program.byte(), program.byte()) else { break };
        let number = usize::from(operation >> 2) | usize::from(which & 7) << 6;
        let known = (!handles.is_empty()).then(|| handles[number % handles.len()]);
        let number = number % handles.len().max(1);
        match operation & 3 {
            0 | 1 => match (shared.insert(value), locked.insert(value)) {
                (Ok(one), Ok(other)) => {
                    assert!(!handles.iter().any(|known| known[0] == one || known[1] == other));
                    model.insert(handles.len(), value);
                    handles.push([one, other]);
                }
                (Err(InsertError::Exhausted(one)), Err(InsertError::Exhausted(other))) => {
                    assert_eq!((one, other, model.len()), (value, value, limit as usize));
                }
                other => panic!("{other:?}"),
            },
            2 => {
                let Some([one, other]) = known else { continue };
                let expected = model.remove(&number);
                assert_eq!(shared.remove(one), expected.is_some(), "{one:?}");
                assert_eq!(locked.remove(other), expected, "{other:?}");
            }
            _ => {
                let Some([one, other]) = known else { continue };
                let expected = model.get(&number);
                assert_eq!(shared.get(one).as_deref(), expected, "{one:?}");
                assert_eq!(shared.contains(one), expected.is_some(), "{one:?}");
                assert_eq!(locked.lock(other).as_deref(), expected, "{other:?}");
                if which & 8 != 0 {
                    assert_eq!(shared.collect(), 0, "nobody reads");
                }
            }
        }
        assert_eq!((shared.len(), locked.len()), (model.len(), model.len()));
    }
    let mut left: Vec<u64> = Vec::new();
    shared.for_each(|_, value| left.push(*value));
    locked.for_each(|_, value| left.push(*value));
    left.sort_unstable();
    assert_eq!(left, model.values().flat_map(|&value| [value; 2]).collect::<Vec<_>>());
}

/// Returns one of a few hundred tuples, which differ in each field.
fn tuple(byte: u8, other: u8) -> Tuple {
    let address = |number: u8| match number & 4 {
        0 => Ipv4Addr::new(10, 0, 0, number & 3).into(),
        _ => Ipv6Addr::from(u128::from(number & 3) << 64 | 1).into(),
    };
    Tuple {
        protocol: 6 + 11 * (other & 1),
        source: (address(byte), u16::from(byte >> 3 & 3)),
        destination: (address(byte >> 5), u16::from(other >> 1 & 3)),
    }
}

/// Returns one of the two tuples that have the same connection.
fn key(tuple: Tuple) -> (u8, [(std::net::IpAddr, u16); 2]) {
    let mut ends = [tuple.source, tuple.destination];
    ends.sort();
    (tuple.protocol, ends)
}

fn connections(data: &[u8]) {
    let mut program = Program(data);
    let table: ConnectionTable<u64> =
        ConnectionTable::new(Bits::new(6).unwrap_or_else(|_| Bits::for_connections(1)));
    let mut model: BTreeMap<_, (Tuple, u64, u64)> = BTreeMap::new();
    let mut now = 0_u64;
    for value in 0..OPERATIONS as u64 {
        let (Some(operation), Some(first), Some(second)) =
            (program.byte(), program.byte(), program.byte())
        else {
            break;
        };
        let wanted = tuple(first, second);
        let there = model.get(&key(wanted)).copied();
        let deadline = if operation >> 4 == 15 { NEVER } else { now + u64::from(operation >> 4) };
        match operation % 6 {
            0 => match table.insert(&wanted, value, deadline) {
                Ok(new) => {
                    assert_eq!((there, *new, new.tuple()), (None, value, wanted));
                    model.insert(key(wanted), (wanted, value, deadline));
                }
                Err(refused) => {
                    let Why::Exists(old) = &refused.why else { panic!("no memory") };
                    let (original, known, until) = there.expect("the model has it too");
                    assert_eq!((**old, old.tuple(), refused.value), (known, original, value));
                    assert_eq!(old.deadline(), Some(until));
                }
            },
            1 => match table.look_up(&wanted) {
                None => assert_eq!(there, None),
                Some((found, direction)) => {
                    let (original, known, until) = there.expect("the model has it too");
                    assert_eq!(
                        (*found, found.tuple(), found.deadline()),
                        (known, original, Some(until))
                    );
                    let expected =
                        if wanted == original { Direction::Original } else { Direction::Reply };
                    assert_eq!(direction, expected);
                }
            },
            2 => {
                let removed = table.remove(&wanted);
                assert_eq!(removed.as_deref().copied(), there.map(|(_, value, _)| value));
                assert!(removed.is_none_or(|old| old.deadline().is_none() && !old.renew(NEVER)));
                model.remove(&key(wanted));
            }
            3 => {
                let found = table.get_or_insert_with(&wanted, deadline, || value).expect("memory");
                let (_, known, _) = *model.entry(key(wanted)).or_insert((wanted, value, deadline));
                assert_eq!(*found, known);
            }
            4 => {
                if let Some((found, _)) = table.look_up(&wanted) {
                    assert!(found.renew(deadline), "it is in the table");
                    let (_, _, until) = model.get_mut(&key(wanted)).expect("the model has it too");
                    *until = deadline.max(*until);
                }
            }
            _ => {
                now += u64::from(first & 7);
                let mut gone = BTreeSet::new();
                let number = table.expire(now, usize::MAX, |old| {
                    assert!(gone.insert(key(old.tuple())), "it expires twice");
                });
                let due = |until: u64| until != NEVER && until <= now;
                let expected: BTreeSet<_> =
                    model.iter().filter(|(_, v)| due(v.2)).map(|(key, _)| *key).collect();
                assert_eq!((number, &gone), (expected.len(), &expected));
                model.retain(|key, _| !expected.contains(key));
            }
        }
        assert_eq!(table.len(), model.len());
    }
}

fn buffers(data: &[u8]) {
    let mut program = Program(data);
    let Some(limit) = program.byte().map(|limit| u64::from(limit & 31)) else { return };
    let cache: BlockCache<u64> = BlockCache::new(Configuration::DEFAULT.with_limit(limit));
    // What may be in the cache, and the references that this program keeps. The cache may drop any
    // buffer that is not referenced, so a look-up may find less than the model.
    let mut filled: BTreeMap<u8, u64> = BTreeMap::new();
    let mut kept = Vec::new();
    for value in 0..OPERATIONS as u64 {
        let (Some(operation), Some(block)) = (program.byte(), program.byte()) else { break };
        let block = block & 63;
        let key = Key::new(u32::from(block & 3), u64::from(block >> 2));
        let is_kept = |kept: &Vec<(u8, _)>| kept.iter().any(|(of, _)| *of == block);
        match operation & 7 {
            0..=2 => {
                let mut ran = false;
                let made = cache.get_or_fill(key, || {
                    ran = true;
                    if operation & 8 == 0 { Ok(value) } else { Err(value) }
                });
                match made {
                    Ok(buffer) => {
                        assert_eq!(*buffer.key(), key);
                        if ran {
                            assert!(!is_kept(&kept), "a buffer that is kept was filled again");
                            filled.insert(block, value);
                        }
                        assert_eq!(Some(&*buffer), filled.get(&block));
                        if operation & 16 != 0 {
                            kept.push((block, buffer));
                        }
                    }
                    Err(GetError::Full) => {
                        assert!(kept.len() as u64 >= limit, "full with {} kept", kept.len());
                    }
                    Err(GetError::Fill(why)) => {
                        assert!(ran && why == value && !is_kept(&kept));
                        filled.remove(&block);
                    }
                    Err(other) => panic!("{other:?}"),
                }
            }
            3 => match cache.look_up(key) {
                Some(buffer) => assert_eq!(Some(&*buffer), filled.get(&block)),
                None => assert!(!is_kept(&kept), "a buffer that is kept was dropped"),
            },
            4 => {
                if let Some(removed) = cache.remove(key) {
                    assert_eq!(filled.remove(&block), Some(*removed));
                    assert!(!removed.is_cached() && !removed.remove());
                    // A kept one that was removed is no longer found by its key.
                    kept.retain(|(of, _)| *of != block);
                } else {
                    assert!(!is_kept(&kept), "a buffer that is kept was not there");
                }
            }
            5 => {
                let before = cache.len();
                let freed = cache.reclaim(usize::from(operation >> 3));
                assert!(freed <= usize::from(operation >> 3));
                assert_eq!(cache.len(), before - freed);
            }
            6 => kept.truncate(usize::from(operation >> 3)),
            _ => {
                let distinct: BTreeSet<u8> = kept.iter().map(|(of, _)| *of).collect();
                assert_eq!(cache.referenced(), distinct.len());
            }
        }
        assert!(cache.living() <= limit && cache.len() as u64 <= cache.living());
    }
}

fn statistics(data: &[u8]) {
    let mut program = Program(data);
    let all: Statistics = Statistics::new().expect("there is memory");
    let mut model = Counts::default();
    for _ in 0..OPERATIONS {
        let Some(operation) = program.byte() else { break };
        match operation & 3 {
            0 => assert_eq!(all.take(), std::mem::take(&mut model)),
            1 => assert_eq!(all.read(), model),
            _ => {
                let (Some(packets), Some(bytes), Some(last_used)) =
                    (program.word(), program.word(), program.word())
                else {
                    break;
                };
                let counts = Counts { packets, bytes, last_used, flags: u32::from(operation) };
                all.update_at(usize::from(operation >> 2), &counts);
                model.merge(&counts);
            }
        }
    }
    assert_eq!(all.read(), model);
}
