//! Tests of the simulated machine, in one binary: each mechanism, machine files, random programs.

mod branch_prediction;
mod cancelled;
mod capacity;
mod kernel_calls;
mod machine_files;
mod mechanisms;
mod memory_order;
mod out_of_order;
mod protocol;
mod random_capacity;
mod random_programs;
mod random_schedules;
mod regions;
mod resolved_numbers;
mod runs;
mod shared_cpus;
mod shipped_machines;
mod support;
mod turns;
mod waiting;
