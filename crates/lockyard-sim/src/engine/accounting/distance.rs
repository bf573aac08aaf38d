//! Distances between the threads that hand a line over.

/// Distance over which a line was handed over, nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LineDistance {
    /// To another thread of the core.
    Core,
    /// To another core of the complex.
    Complex,
    /// To another complex of the socket.
    Socket,
    /// To another socket.
    Remote,
}

impl LineDistance {
    /// All distances, in the order of their numbers.
    pub const ALL: [LineDistance; 4] =
        [LineDistance::Core, LineDistance::Complex, LineDistance::Socket, LineDistance::Remote];

    /// Name of the distance in reports.
    pub fn name(self) -> &'static str {
        match self {
            LineDistance::Core => "same core",
            LineDistance::Complex => "same complex",
            LineDistance::Socket => "same socket",
            LineDistance::Remote => "another socket",
        }
    }
}
