//! The command `lockyard`, with one lock more: `lock = "mine"` in scripts.

use lockyard_cli::own_lock;
use mine::Mine;
use std::process::ExitCode;

fn main() -> ExitCode {
    lockyard_cli::main_with(&[own_lock::<Mine>("mine").fifo()])
}
