//! The library on real threads, in one binary: its behaviour, and its compiled code. Code that must
//! not compile is in `lockyard-refused`.

mod support;

mod auto_traits;
mod between_operations;
mod fatal;
mod first_line;
mod forgotten;
mod hot_paths;
mod hot_paths_aarch64;
mod kinds;
mod late_locks;
mod mutex;
mod nodes;
mod page_ref;
mod parking_native;
mod queued_native;
mod read_write;
mod reclaim;
mod reclaim_bounds;
mod reclaim_model;
mod seqlock;
mod sharded;
mod stealing_bound;
mod ticket_limits;
mod timed_waits;
mod torture;
mod without_slots;
