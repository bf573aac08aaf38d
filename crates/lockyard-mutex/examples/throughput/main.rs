//! Throughput of mutexes and condition variables, of the C library and of each kind that replaces
//! them. The same program runs without and with the preloaded library.
//!
//! ```text
//! cargo build --release -p lockyard-mutex --lib --example throughput
//! target/release/examples/throughput target/release/liblockyard_mutex.so
//! ```
//!
//! Each round runs all kinds one after another, for a tenth of a second each. A ratio is taken
//! within a round. The table has the median of the C library's operations per second, and for each
//! kind the median ratio with the interval from the second smallest to the second largest of 11
//! ratios. That interval has the true median with a probability of 98.8 percent (binomial).

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod load;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod table;

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn main() -> std::process::ExitCode {
    table::main()
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn main() {
    println!("the replacement is for Linux with glibc");
}
