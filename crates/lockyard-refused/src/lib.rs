//! Programs that the compiler must refuse, with a readable message: `tests/ui/`.
//!
//! They are in a crate of their own because `trybuild` compiles all that the crate of the tests
//! depends on. As a dependency of the library's tests, it would also be compiled for the library's
//! listings and examples.
