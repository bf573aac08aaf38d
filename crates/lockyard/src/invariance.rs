//! Invariance: a parameter that decides what a word means must be exactly what it was.
//!
//! A lock's word means something to one algorithm, with one policy, on one host. The type says
//! which. If such a type were covariant in a parameter, `Lock<for<'a> fn(&'a ())>` would pass for
//! `Lock<fn(&'static ())>`. Both may implement a trait, with different answers, so safe code would
//! use one word as two kinds of lock. `tests/ui/variance.rs` has each type that must refuse this.

use core::marker::PhantomData;

/// Names the type `X` and is invariant in it. It owns no `X`, and is `Send` and `Sync` whatever `X`
/// is.
///
/// A function that takes `X` is contravariant in it, one that returns `X` is covariant. One that
/// does both is invariant.
pub(crate) type Invariant<X> = PhantomData<fn(X) -> X>;
