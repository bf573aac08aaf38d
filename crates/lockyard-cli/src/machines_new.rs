//! `lockyard machines new`: a machine file from latencies between cores.

use crate::arguments::NewMachine;
use crate::errors::{Failure, complain};
use crate::new_file::NewFile;
use crate::output;
use crate::screen::screen;
use lockyard_lab::calibrate_host::{Measurements, slug, today};
use lockyard_lab::from_pingpong::{self, Asked, Made, Matrix, Topology};
use lockyard_lab::standard;
use lockyard_results::render::Format;
use lockyard_sim::Machine;
use std::path::Path;

pub(crate) fn run(options: &NewMachine, format: Format) -> Result<(), Failure> {
    let name = options.name.as_deref();
    name.map(crate::calibrate::check_name).transpose()?;
    let topology = options.topology.as_deref();
    let topology = topology.map(Topology::parse).transpose();
    let topology = topology.map_err(|what| Failure::Input(format!("--topology {what}")))?;
    if let Some(like) = options.like.as_deref().filter(|like| Machine::shipped(like).is_none()) {
        let names: Vec<&str> = Machine::names().collect();
        let hint = lockyard_support::hint(like, &names, "there are");
        let like = lockyard_support::printable(like);
        return Err(Failure::Input(format!(
            "--like: there is no shipped machine `{like}`; {hint}"
        )));
    }
    let file = options.out.as_deref();
    let file = file.map(|path| NewFile::at("--out", path, options.force)).transpose()?;
    let path = &options.from_pingpong;
    let most = from_pingpong::MAX_BYTES.max(standard::MAX_BYTES);
    let text = lockyard_support::read_text(path, most, "latencies are CSV or JSON");
    let text = text.map_err(Failure::Input)?;
    let origin = lockyard_support::printable(&path.display().to_string());
    let made = if standard::is_standard(&text) {
        let mut measurements = standard::read(&origin, &text).map_err(Failure::Input)?;
        if topology.is_some() {
            return Err(Failure::Input(format!("--topology: {origin} says it already")));
        }
        give(&mut measurements, options);
        from_pingpong::make_of_host(&measurements, name)
    } else {
        let matrix = Matrix::parse(&origin, &text).map_err(Failure::Input)?;
        let asked = asked(options, topology);
        let made = from_pingpong::make(&matrix, &asked);
        if made.is_ok() {
            complain(&format!(
                "note: what is not in the matrix is taken from {} (--like names another machine)",
                asked.relative
            ));
        }
        made
    };
    let made = made.map_err(|what| match what.strip_prefix("--") {
        Some(_) => Failure::Input(what),
        None => Failure::Run(format!("no machine file: {what}")),
    })?;
    show(&made, file.as_ref(), format)
}

/// Prints what was found, and writes the file.
fn show(made: &Made, file: Option<&NewFile>, format: Format) -> Result<(), Failure> {
    let text = made.calibrated.file.as_str();
    let written = file.map(|file| file.write(text)).transpose()?;
    let shown = (format == Format::Json || written.is_none()).then_some(text);
    output::write(&from_pingpong::render(made, shown, format, &screen()))?;
    if let Some(file) = file {
        complain(&format!("note: the machine file is {}", file.shown()));
    }
    Ok(())
}

/// Adds what the user gives to the measurements of a host.
fn give(measurements: &mut Measurements, options: &NewMachine) {
    measurements.given.relative.clone_from(&options.like);
    measurements.given.ghz = options.ghz;
}

fn asked(options: &NewMachine, topology: Option<Topology>) -> Asked {
    let short = options.from_pingpong.file_stem();
    let short = short.unwrap_or_default().to_string_lossy().into_owned();
    let relative = options.like.clone().unwrap_or_else(|| relative(&short).to_owned());
    Asked {
        origin: file_name(&options.from_pingpong),
        name: options.name.clone().unwrap_or_else(|| slug(&short)),
        relative,
        topology,
        ghz: options.ghz,
        date: today(),
    }
}

/// Returns the last part of a path, shortened for sources.
fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    lockyard_support::printable(&name)
}

/// Guesses the nearest shipped machine from the name of a file.
fn relative(name: &str) -> &'static str {
    let name = name.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if has(&["amd", "epyc", "ryzen", "threadripper", "zen"]) {
        "zen4-7840u"
    } else if has(&["graviton", "neoverse", "altra", "apple", "arm"]) {
        "graviton2-64c"
    } else {
        "cascade-lake-2s24c2t"
    }
}
