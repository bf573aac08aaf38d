//! Invariance: a type parameter that decides the meaning of a lock word must not vary.
//!
//! A lock word has a meaning for one algorithm, with one policy, on one host. The lock's type names
//! all three. If such a type were covariant in a parameter, `Lock<for<'a> fn(&'a ())>` would pass
//! for `Lock<fn(&'static ())>`. Both parameters may implement the same trait differently, so safe
//! code could use one word as two kinds of lock. `lockyard-refused` checks each type that must
//! refuse this.

use core::marker::PhantomData;

/// Names the type `X` and is invariant in it. Owns no `X`, and is `Send` and `Sync` for every `X`.
///
/// A function that takes `X` is contravariant in it, and one that returns `X` is covariant. A
/// function that does both is invariant.
pub(crate) type Invariant<X> = PhantomData<fn(X) -> X>;
