//! Look-ups in tables: the trait of a row, and the loop that runs it.

use super::subject::Subject;
use super::work::{Done, Load, Worker, draws};
use std::hash::{BuildHasherDefault, Hasher};

/// An object in a table: 32 bytes. A look-up reads the first word, and adds to the second if it has
/// the object exclusively.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    pub(crate) value: u64,
    pub(crate) uses: u64,
    _rest: [u64; 2],
}

impl Object {
    /// Returns object `number`. Its value identifies it.
    pub(crate) const fn numbered(number: u64) -> Object {
        Object { value: value(number), uses: 0, _rest: [number; 2] }
    }
}

/// Returns the value of object `number`.
pub(crate) const fn value(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Returns the capacity for tables that take one. It is twice the number of objects, so that
/// changes do not make the table grow repeatedly.
pub(crate) fn room(load: &Load) -> usize {
    2 * load.objects as usize + load.threads
}

/// Number of objects per thread that come and go.
const SPARE: u32 = 4096;

/// A table of objects.
pub trait LookUp: Send + Sync + Sized + 'static {
    /// Key by which an object is found.
    type Key: Clone + Send + Sync;

    /// Returns a table with objects 0 to `load.objects` - 1, and their keys.
    ///
    /// # Errors
    ///
    /// Fails if there is no memory.
    fn filled(load: &Load) -> Result<(Self, Vec<Self::Key>), String>;

    /// Finds the object of `key`, and returns its value.
    fn read(&self, key: &Self::Key) -> Option<u64>;

    /// Inserts object `number` and removes it again. Only this thread knows the object, and no
    /// look-up asks for it.
    fn change(&self, number: u32);

    /// Performs a thread's reads and changes in the given order. A row that keeps state between its
    /// reads overrides this.
    #[inline]
    fn session(&self, session: Session<Self::Key>) -> Done {
        session.run(|key| self.read(key), |number| self.change(number))
    }

    /// Number of objects in the table.
    fn objects(&self) -> usize;

    /// Number of uses of the object of `key`, if a look-up counts them in the object.
    fn uses(&self, key: &Self::Key) -> Option<u64> {
        let _ = key;
        None
    }
}

/// Work of a thread on a table.
pub struct Session<'s, K> {
    worker: &'s Worker<'s>,
    keys: &'s [K],
}

impl<K: Clone> Session<'_, K> {
    /// Reads with `read` and changes with `change`, until the run is stopped. `change` gets the
    /// number of an object that belongs to this thread. The number differs each time, because some
    /// tables are slow if a single key comes and goes.
    #[inline(always)]
    pub(crate) fn run(
        self,
        mut read: impl FnMut(&K) -> Option<u64>,
        mut change: impl FnMut(u32),
    ) -> Done {
        let draws =
            draws(self.worker, self.keys.len(), |n| (self.keys[n].clone(), value(n as u64)));
        let first = (self.keys.len() + self.worker.thread * SPARE as usize) as u32;
        self.worker.run(
            &draws,
            &mut 0,
            |_, key| read(key),
            |number, _| {
                *number = (*number + 1) % SPARE;
                change(first + *number);
            },
        )
    }
}

/// A table as a subject.
struct Table<L: LookUp>(L, Vec<L::Key>);

/// Makes the subject for a row.
pub(crate) fn table<L: LookUp>(load: &Load) -> Result<Box<dyn Subject>, String> {
    let (table, keys) = L::filled(load)?;
    Ok(Box::new(Table(table, keys)))
}

impl<L: LookUp> Subject for Table<L> {
    fn work(&self, worker: &Worker) -> Done {
        self.0.session(Session { worker, keys: &self.1 })
    }

    fn verify(&self, done: &[Done]) -> Result<(), String> {
        let done = Done::sum(done);
        if done.missed > 0 {
            return Err(format!(
                "{} look-ups did not find an object that is in the table",
                done.missed
            ));
        }
        if done.wrong > 0 {
            return Err(format!("{} look-ups found another object", done.wrong));
        }
        let (found, objects) = (self.0.objects(), self.1.len());
        if found != objects {
            return Err(format!("the table has {found} objects where it should have {objects}"));
        }
        let uses: Option<u64> = self.1.iter().map(|key| self.0.uses(key)).sum();
        match uses {
            Some(uses) if uses != done.reads => Err(format!(
                "{} exclusive uses were made, but the objects record {uses}",
                done.reads
            )),
            _ => Ok(()),
        }
    }
}

/// A hash of identifiers that costs one multiplication, so that hashing does not dominate the
/// comparison. It uses both halves of the product, because some tables use the upper bits and some
/// the lower ones.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
    #[inline(always)]
    fn finish(&self) -> u64 {
        self.0
    }
    #[inline(always)]
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }
    #[inline(always)]
    fn write_u32(&mut self, id: u32) {
        self.write_u64(u64::from(id));
    }
    #[inline(always)]
    fn write_u64(&mut self, id: u64) {
        let product = u128::from(self.0 ^ id) * 0x9e37_79b9_7f4a_7c15;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }
}

/// The hash of identifiers, for tables.
pub(crate) type IdHash = BuildHasherDefault<IdHasher>;
