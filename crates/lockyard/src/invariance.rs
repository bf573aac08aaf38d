//! Invariance: a parameter that decides what a word means must not vary.
//!
//! A lock's word has a meaning for one algorithm, with one policy, on one host. The type names all
//! three. If such a type were covariant in a parameter, `Lock<for<'a> fn(&'a ())>` would pass for
//! `Lock<fn(&'static ())>`. Both may implement a trait, with different answers, so safe code would
//! use one word as two kinds of lock. `tests/ui/variance.rs` has each type that must refuse this.

use core::marker::PhantomData;

/// Names the type `X` and is invariant in it. It owns no `X`, and is `Send` and `Sync` for every
/// `X`.
///
/// A function that takes `X` is contravariant in it, and one that returns `X` is covariant. A
/// function that does both is invariant.
pub(crate) type Invariant<X> = PhantomData<fn(X) -> X>;
