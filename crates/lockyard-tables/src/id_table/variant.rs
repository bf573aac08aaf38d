//! The variants: look-ups with the table's lock, and without.

/// The way in which look-ups are kept from objects that are removed meanwhile. Sealed: [`Rcu`] or
/// [`Locked`].
pub trait Variant: sealed::Sealed + 'static {
    /// Its name in tables.
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

/// One spinlock for all. To compare with.
#[derive(Debug)]
pub struct Locked;

impl Variant for Locked {
    const NAME: &'static str = "locked";
    const LOCKS: bool = true;
}
