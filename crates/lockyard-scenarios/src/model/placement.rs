//! The order in which tasks are placed.

/// The order in which tasks are placed on hardware threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Core by core: all threads of a core, then the next core.
    Fill,
    /// One task per core, socket by socket, then the siblings in the same order. This is the
    /// default of scripts.
    #[default]
    SiblingsLast,
    /// The sockets in turn: the first task of each socket, then the second. All cores have a task
    /// before siblings are used.
    Spread,
    /// Not pinned. On a host, the operating system places the tasks. A simulated machine places
    /// them on random cores, anew for each run. Siblings are used only when every core has a task.
    Unpinned,
}

impl Order {
    /// All orders.
    pub const ALL: [Order; 4] = [Order::Fill, Order::SiblingsLast, Order::Spread, Order::Unpinned];

    /// Name in scripts and arguments.
    pub const fn name(self) -> &'static str {
        match self {
            Order::Fill => "fill",
            Order::SiblingsLast => "siblings-last",
            Order::Spread => "spread",
            Order::Unpinned => "unpinned",
        }
    }
}
