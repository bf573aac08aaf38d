//! The variants: look-ups with and without the table's lock.

/// Protection of look-ups from the removal of objects. Sealed: [`Rcu`] or [`Locked`].
pub trait Variant: sealed::Sealed + 'static {
    /// Name of the variant in tables.
    const NAME: &'static str;
    /// True if look-ups take the table's lock.
    const LOCKS: bool;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Rcu {}
    impl Sealed for super::Locked {}
}

/// Look-ups take no lock of the table.
#[derive(Debug)]
pub struct Rcu;

impl Variant for Rcu {
    const NAME: &'static str = "rcu";
    const LOCKS: bool = false;
}

/// One spinlock for the whole table, for comparison.
#[derive(Debug)]
pub struct Locked;

impl Variant for Locked {
    const NAME: &'static str = "locked";
    const LOCKS: bool = true;
}
