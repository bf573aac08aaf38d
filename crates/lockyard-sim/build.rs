//! Lists the files of `machines/`: a file there is a machine, a family or a kernel in the binary.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let machines = package.join("../../machines");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    for (folder, list) in [("", "machines"), ("families", "families"), ("kernels", "kernels")] {
        let folder = machines.join(folder);
        println!("cargo::rerun-if-changed={}", folder.display());
        let list = out.join(format!("{list}.rs"));
        fs::write(list, files(&folder)).expect("there is room");
    }
}

/// Returns a list, as Rust, of the names and texts of the TOML files in a directory, by name.
fn files(folder: &Path) -> String {
    let entries = fs::read_dir(folder).expect("it is beside the crates");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    let named = paths.filter_map(|path| {
        let name = path.file_stem()?.to_str()?.to_owned();
        // Other names of machines are no machine.
        (path.extension()? == "toml" && name != "aliases").then_some((name, path))
    });
    let mut named: Vec<(String, PathBuf)> = named.collect();
    named.sort();
    let mut list = String::from("&[\n");
    for (name, path) in named {
        list += &format!("    ({name:?}, include_str!({path:?})),\n");
    }
    list + "]\n"
}
