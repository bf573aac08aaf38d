//! Distances between the threads that hand a line over.

/// Distance over which a line was handed over, the nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distance {
    /// To another thread of the core.
    Core,
    /// To another core of the complex.
    Complex,
    /// To another complex of the socket.
    Socket,
    /// To another socket.
    Remote,
}

impl Distance {
    /// All distances, in the order of their numbers.
    pub const ALL: [Distance; 4] =
        [Distance::Core, Distance::Complex, Distance::Socket, Distance::Remote];

    /// Name of the distance in reports.
    pub fn name(self) -> &'static str {
        match self {
            Distance::Core => "same core",
            Distance::Complex => "same complex",
            Distance::Socket => "same socket",
            Distance::Remote => "another socket",
        }
    }
}
