//! Handles: the references that look-ups return.

use super::key::{Direction, Tuple};
use super::look_up::{LookUp, Readers};
use super::table::{ConnectionTable, EntryOf, ReadersOf};
use core::fmt;
use core::ops::Deref;
use core::ptr::NonNull;
use lockyard::platform::{Host, Native};
use lockyard::{Context, NoContext};

/// A reference to a connection. It keeps the connection alive, even after the connection has left
/// the table, and dereferences to the value.
///
/// Cloning and dropping each cost one read-modify-write of the connection's reference count. Once
/// the connection has left the table, the last handle drops the value.
pub struct Connection<'t, T: Send + Sync, P: LookUp<H>, H: Host = Native, C: Context = NoContext> {
    pub(super) table: &'t ConnectionTable<T, P, H, C>,
    pub(super) entry: NonNull<EntryOf<T, P, H, C>>,
}

// SAFETY: a handle gives access to `&T`, and the last handle drops the `T` in its own thread. `T`
// is `Send` and `Sync`. The rest of an entry is words.
unsafe impl<T, P, H, C> Send for Connection<'_, T, P, H, C>
where
    T: Send + Sync,
    P: LookUp<H>,
    H: Host,
    C: Context,
{
}
// SAFETY: as above.
unsafe impl<T, P, H, C> Sync for Connection<'_, T, P, H, C>
where
    T: Send + Sync,
    P: LookUp<H>,
    H: Host,
    C: Context,
{
}

impl<'t, T: Send + Sync, P: LookUp<H>, H: Host, C: Context> Connection<'t, T, P, H, C> {
    /// Makes a handle from a reference.
    ///
    /// # Safety
    ///
    /// The entry belongs to the table, and the caller passes on a reference to it.
    #[inline(always)]
    pub(super) unsafe fn new(
        table: &'t ConnectionTable<T, P, H, C>,
        entry: NonNull<EntryOf<T, P, H, C>>,
    ) -> Self {
        Connection { table, entry }
    }

    #[inline(always)]
    pub(super) fn entry(&self) -> &EntryOf<T, P, H, C> {
        // SAFETY: the handle has a reference.
        unsafe { self.entry.as_ref() }
    }

    pub(super) fn direction_of(&self, in_order: bool) -> Direction {
        if self.entry().key().original_in_order() == in_order {
            Direction::Original
        } else {
            Direction::Reply
        }
    }

    /// Returns the tuple with which the connection was inserted.
    pub fn tuple(&self) -> Tuple {
        let stored = self.entry().key();
        stored.key().tuple(stored.original_in_order())
    }

    /// Returns the deadline; `None` if the connection was removed from the table. A snapshot.
    pub fn deadline(&self) -> Option<u64> {
        // SAFETY: the handle has a reference.
        unsafe { self.entry().deadline() }
    }

    /// Moves the deadline to `until`, unless it is already later. Returns true if the connection is
    /// in the table. It then stays there until the deadline, unless it is removed. Cost: a load,
    /// and a read-modify-write if the deadline moves.
    #[inline]
    pub fn renew(&self, until: u64) -> bool {
        // SAFETY: the handle has a reference.
        unsafe { self.entry().renew(until) }
    }
}

impl<T: Send + Sync, P: LookUp<H>, H: Host, C: Context> Deref for Connection<'_, T, P, H, C> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the handle has a reference while the returned value is used.
        unsafe { self.entry().value() }
    }
}

impl<T: Send + Sync, P: LookUp<H>, H: Host, C: Context> Clone for Connection<'_, T, P, H, C> {
    fn clone(&self) -> Self {
        self.entry().references.get();
        Connection { table: self.table, entry: self.entry }
    }
}

impl<T: Send + Sync, P: LookUp<H>, H: Host, C: Context> Drop for Connection<'_, T, P, H, C> {
    #[inline]
    fn drop(&mut self) {
        if self.entry().references.put() {
            destroy(self.table, self.entry);
        }
    }
}

/// Frees a connection whose last reference is gone.
#[cold]
fn destroy<T: Send + Sync, P: LookUp<H>, H: Host, C: Context>(
    table: &ConnectionTable<T, P, H, C>,
    entry: NonNull<EntryOf<T, P, H, C>>,
) {
    // SAFETY: nobody has a reference, and none can be taken. The entry is in no chain: the table
    // removed it before it gave up its own reference. `free` is called once, by `retire`.
    unsafe {
        EntryOf::<T, P, H, C>::destroy(entry, ReadersOf::<P, H, C>::deferred(), |deferred| {
            table.readers.retire(deferred, EntryOf::<T, P, H, C>::free);
        });
    }
}

impl<T: Send + Sync + fmt::Debug, P: LookUp<H>, H: Host, C: Context> fmt::Debug
    for Connection<'_, T, P, H, C>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("tuple", &self.tuple())
            .field("deadline", &self.deadline())
            .field("value", &**self)
            .finish()
    }
}

/// Result of an insertion.
pub type Inserted<'t, T, P, H = Native, C = NoContext> =
    Result<Connection<'t, T, P, H, C>, Refused<'t, T, P, H, C>>;

/// A refused insertion: the reason, and the value.
pub struct Refused<'t, T: Send + Sync, P: LookUp<H>, H: Host = Native, C: Context = NoContext> {
    /// The value that was to be inserted.
    pub value: T,
    /// The reason.
    pub why: Why<'t, T, P, H, C>,
}

/// The reason why an insertion was refused.
#[non_exhaustive]
pub enum Why<'t, T: Send + Sync, P: LookUp<H>, H: Host = Native, C: Context = NoContext> {
    /// The table already has this connection of the tuple, in one direction or the other.
    Exists(Connection<'t, T, P, H, C>),
    /// The host has no memory for the buckets, or for the connection.
    NoMemory,
}

impl<T: Send + Sync, P: LookUp<H>, H: Host, C: Context> fmt::Display for Refused<'_, T, P, H, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.why {
            Why::Exists(_) => {
                "a connection with this protocol, these addresses and these ports already exists"
            }
            Why::NoMemory => "no memory could be allocated for the connection",
        })
    }
}

impl<T: Send + Sync, P: LookUp<H>, H: Host, C: Context> fmt::Debug for Refused<'_, T, P, H, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Refused({self})")
    }
}

impl<T: Send + Sync, P: LookUp<H>, H: Host, C: Context> core::error::Error
    for Refused<'_, T, P, H, C>
{
}
