//! All model checks, in one binary.

mod alone;
mod buffers;
mod checked_host;
mod connections;
mod controls;
mod faults;
mod handle_table;
mod id_table;
mod keys;
mod kinds;
mod links;
mod lockref;
mod locks;
mod loom_reads;
mod mutation;
mod mutex;
mod page_ref;
mod parking;
mod proof_page;
mod reclaim;
mod reduction;
mod soak;
mod statistics;
mod worst_waits;
