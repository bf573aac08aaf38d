//! Access of a critical section to its lock.

/// Access of a critical section to its lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// No other thread is inside: as the holder of a lock, or as the writer of a reader-writer
    /// lock.
    #[default]
    Exclusive,
    /// Others with shared access may be inside: as a reader of a reader-writer lock. A lock without
    /// a shared mode gives exclusive access instead.
    Shared,
}
