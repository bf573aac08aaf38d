//! Assertions about the traits of a type, checked when the test is compiled.

/// Compiles if the type has the traits.
#[macro_export]
macro_rules! has {
    ($traits:path, $($others:path)?; $($type:ty),* $(,)?) => {
        const _: () = {
            const fn has<T: $traits $(+ $others)?>() {}
            $(has::<$type>();)*
        };
    };
}

/// Compiles if the type does not have the trait. If it has the trait, two implementations fit, and
/// the code does not compile.
#[macro_export]
macro_rules! lacks {
    ($trait:path; $($type:ty),* $(,)?) => {$(
        const _: () = {
            trait Ambiguous<A> {
                fn which() {}
            }
            impl<T> Ambiguous<()> for T {}
            struct WithTrait;
            impl<T: $trait> Ambiguous<WithTrait> for T {}
            const _: fn() = <$type as Ambiguous<_>>::which;
        };
    )*};
}
