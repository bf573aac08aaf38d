//! The macro that defines a record of counters.

/// Defines a record of 64-bit counters, for [`Statistics`](crate::statistics::Statistics).
///
/// A counter is a sum unless another [kind](crate::statistics::Kind) follows it: `max` or `union`.
///
/// ```
/// use lockyard_tables::{ThreadStatistics, counters};
///
/// counters! {
///     /// Requests of one client.
///     pub struct Requests {
///         served,
///         bytes,
///         /// Longest time of a request.
///         longest: max,
///         errors: union,
///     }
/// }
///
/// let requests = ThreadStatistics::new()?;
/// requests.update(&Requests { served: 1, bytes: 700, longest: 30, errors: 0b100 });
/// requests.update(&Requests { served: 1, bytes: 50, longest: 4, errors: 0b001 });
/// let sum = requests.read();
/// assert_eq!(sum, Requests { served: 2, bytes: 750, longest: 30, errors: 0b101 });
/// # Ok::<(), lockyard_tables::AllocationFailed>(())
/// ```
#[macro_export]
macro_rules! counters {
    ($(#[$attribute:meta])* $visibility:vis struct $name:ident {
        $($(#[$of_field:meta])* $field:ident $(: $kind:ident)?),+ $(,)?
    }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        $visibility struct $name {
            $($(#[$of_field])* pub $field: u64),+
        }

        impl $crate::statistics::Record for $name {
            #[inline(always)]
            fn merge(&mut self, other: &Self) {
                $({
                    let kind = $crate::statistics::Kind::Sum$(.$kind())?;
                    self.$field = kind.merge(self.$field, other.$field);
                })+
            }
        }

        impl $crate::statistics::Counters for $name {
            const KINDS: &'static [$crate::statistics::Kind] =
                &[$($crate::statistics::Kind::Sum$(.$kind())?),+];
            #[inline(always)]
            fn counter(&self, index: usize) -> u64 {
                [$(self.$field),+][index]
            }
            #[inline(always)]
            fn from_counters(mut counter: impl FnMut(usize) -> u64) -> Self {
                let mut index = 0..;
                // Fields are evaluated in the order in which they are written.
                $name { $($field: counter(index.next().unwrap_or_default())),+ }
            }
        }
    };
}
