//! The library on real threads, in one binary: its behaviour, its compiled code, and the code that
//! must not compile.

mod auto_traits;
mod between_operations;
mod buffers;
mod connections;
mod does_not_compile;
mod fatal;
mod first_line;
mod hot_paths;
mod id_table;
mod kinds;
mod late_locks;
mod linearizable;
mod nodes;
mod outside;
mod page_ref;
mod parking_native;
mod queued_native;
mod reclaim;
mod reclaim_bounds;
mod reclaim_model;
mod statistics;
mod steady;
mod stealing_bound;
mod support;
mod ticket_limits;
mod timed_waits;
mod torture;
mod without_slots;
