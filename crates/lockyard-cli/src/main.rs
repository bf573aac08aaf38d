//! The command `lockyard`; its parts are this package's library.

fn main() -> std::process::ExitCode {
    lockyard_cli::main()
}
