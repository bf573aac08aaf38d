//! The command `lockyard`. Its code is in this package's library.

fn main() -> std::process::ExitCode {
    lockyard_cli::main()
}
