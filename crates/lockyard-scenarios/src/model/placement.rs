//! The order in which tasks are placed.

/// The order in which tasks are placed on hardware threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Core by core, all threads of a core before the next one.
    Fill,
    /// Whole cores, socket by socket, then their siblings in the same order. The order of scripts
    /// that name none.
    #[default]
    SiblingsLast,
    /// The sockets in turn: the first task of each socket, then the second. Whole cores come first.
    Spread,
    /// Not pinned. On the host the operating system places tasks. A simulated machine places them
    /// on random cores, anew for each run, and uses siblings only when every core has a task.
    Unpinned,
}

impl Order {
    /// All orders.
    pub const ALL: [Order; 4] = [Order::Fill, Order::SiblingsLast, Order::Spread, Order::Unpinned];

    /// The name in scripts and arguments.
    pub const fn name(self) -> &'static str {
        match self {
            Order::Fill => "fill",
            Order::SiblingsLast => "siblings-last",
            Order::Spread => "spread",
            Order::Unpinned => "unpinned",
        }
    }
}
