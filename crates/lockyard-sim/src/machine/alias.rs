//! Names under which clouds rent machines, such as `c6i.8xlarge`.
//!
//! `machines/aliases.toml` lists them by kind. A name stands for a shipped machine that is cut down
//! to the instance's number of cores: its latencies stay, and the topology changes. Which cores of
//! a processor an instance gets is not published. Here they fill one complex after another. An
//! instance is a virtual machine, and so has a guest's kernel costs, unless its size says that it
//! is bare metal.

use super::description::Machine;
use super::source::{Result, Source, check_keys, first_line, kind, number, section_of, text_of};
use super::{kernel, parameters};
use toml::de::{DeArray, DeTable};

/// The shipped list.
const TEXT: &str = include_str!("../../../../machines/aliases.toml");

/// Prefix of the sizes that are bare metal, without a hypervisor.
const HARDWARE: &str = "metal";

/// Cores of a socket that an instance can get: complexes, cores per complex, threads per core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Socket {
    complexes: usize,
    cores: usize,
    threads: usize,
}

/// A kind of rented machine: names that differ in their size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rented {
    /// Prefixes of the names, for example `c6i.` and `m6i.`.
    pub prefixes: Vec<String>,
    /// Suffix of the names; mostly empty.
    pub suffix: String,
    /// Sizes, each with its number of CPUs, from small to large.
    pub sizes: Vec<(String, usize)>,
    /// Name of the shipped machine.
    pub machine: String,
    /// Source of the processor and of the sizes.
    pub source: String,
    /// Reason why the shipped machine stands for another processor, if it does.
    pub assumed: Option<String>,
    socket: Socket,
}

impl Rented {
    /// Returns all names, sizes first.
    pub fn names(&self) -> Vec<String> {
        let of = |prefix: &String| {
            let name = |(size, _): &(String, usize)| format!("{prefix}{size}{}", self.suffix);
            self.sizes.iter().map(name).collect::<Vec<String>>()
        };
        self.prefixes.iter().flat_map(of).collect()
    }

    /// Returns the number of CPUs of `name`; `None` if it is of another kind.
    pub fn cpus(&self, name: &str) -> Option<usize> {
        let size = self.size(name)?;
        self.sizes.iter().find(|(known, _)| known == size).map(|(_, cpus)| *cpus)
    }

    /// Returns `true` if `name` is a virtual machine.
    pub fn is_guest(&self, name: &str) -> bool {
        self.size(name).is_some_and(|size| !size.starts_with(HARDWARE))
    }

    /// Returns the part of `name` that is its size; `None` if it is of another kind.
    fn size<'n>(&self, name: &'n str) -> Option<&'n str> {
        let size = self.prefixes.iter().find_map(|prefix| name.strip_prefix(prefix.as_str()))?;
        size.strip_suffix(self.suffix.as_str())
    }

    /// Returns sockets, complexes per socket and cores per complex for a number of CPUs. `None` if
    /// they do not form a regular machine.
    fn layout(&self, cpus: usize) -> Option<[usize; 3]> {
        let Socket { complexes, cores, threads } = self.socket;
        let whole = |all: usize, part: usize| all.is_multiple_of(part).then_some(all / part);
        // An instance with one CPU has one thread of a core with two.
        let all = whole(cpus.max(threads), threads)?;
        let sockets = all.div_ceil(complexes * cores);
        let in_socket = whole(all, sockets)?;
        let used = in_socket.div_ceil(cores);
        Some([sockets, used, whole(in_socket, used)?])
    }

    /// Returns the machine that `name` stands for.
    fn rent(&self, name: &str, cpus: usize) -> Option<Machine> {
        let mut machine = Machine::shipped(&self.machine)?;
        let whole = machine.cores();
        let [sockets, complexes, cores] = self.layout(cpus)?;
        let threads = self.socket.threads.min(cpus);
        let topology = [sockets, complexes, cores, threads];
        for (field, value) in ["sockets", "complexes", "cores", "threads"].into_iter().zip(topology)
        {
            let field = format!("topology.{field}");
            let value = parameters::set(&mut machine.numbers, &field, value as f64)?;
            let parameter = machine.parameters.iter_mut().find(|p| p.name == field)?;
            parameter.value = value;
            parameter.source = Some(format!("{name} has {cpus} CPUs: {}", self.source));
            parameter.assumed = Some(
                "an instance has whole cores, which fill one complex after another".to_owned(),
            );
        }
        let is_guest = self.is_guest(name);
        if is_guest {
            kernel::make_guest(&mut machine)?;
        }
        let taken = sockets * complexes * cores;
        machine.notes.push(format!(
            "{name} stands for {taken} cores of {} ({whole} cores): latencies are the whole \
             processor's{}{}",
            self.machine,
            if is_guest { ", sleeps and wake-ups a guest's" } else { "" },
            self.assumed.iter().map(|why| format!("; {why}")).collect::<String>()
        ));
        let some = |number: usize, what: &str| match number {
            1 => format!("1 {what}"),
            _ => format!("{number} {what}s"),
        };
        let middle =
            if complexes > 1 { format!("{complexes} complexes x ") } else { String::new() };
        machine.title = format!(
            "{name}: {} x {middle}{} x {} of {}",
            some(sockets, "socket"),
            some(cores, "core"),
            some(threads, "thread"),
            self.machine
        );
        name.clone_into(&mut machine.name);
        Some(machine)
    }
}

/// Returns the kinds of rented machines.
///
/// # Panics
///
/// If the shipped list is broken. A test reads it.
pub fn rented() -> Vec<Rented> {
    read("aliases.toml", TEXT).expect("the shipped list is valid")
}

impl Machine {
    /// Returns the machine that a cloud's name stands for, such as `c6i.8xlarge`: a part of a
    /// shipped machine. Its notes say which.
    pub fn rented(name: &str) -> Option<Machine> {
        rented().iter().find_map(|kind| kind.rent(name, kind.cpus(name)?))
    }
}

fn read(origin: &str, text: &str) -> Result<Vec<Rented>> {
    let source = Source { origin, text };
    let document = DeTable::parse(text).map_err(|e| {
        source.error(e.span().unwrap_or(0..0), format!("not TOML: {}", first_line(e.message())))
    })?;
    let top = document.get_ref();
    check_keys(&source, top, &["rented"], "a list of rented machines")?;
    let Some(all) = top.get("rented").and_then(|all| all.get_ref().as_array()) else {
        return Err(source.whole_file_error("lacks [[rented]]"));
    };
    all.iter()
        .map(|one| match one.get_ref().as_table() {
            Some(table) => self::one(&source, table),
            None => Err(source.error(one.span(), "[[rented]] must be a section")),
        })
        .collect()
}

fn one(source: &Source, table: &DeTable) -> Result<Rented> {
    let keys = ["names", "suffix", "machine", "socket", "sizes", "source", "assumed"];
    check_keys(source, table, &keys, "[[rented]]")?;
    let optional = |key: &str| table.get(key).map(|_| text_of(source, table, key)).transpose();
    let names = table.get("names").and_then(|names| names.get_ref().as_array());
    let prefixes: Option<Vec<String>> = names.map(texts).unwrap_or_default();
    let Some(prefixes) = prefixes.filter(|names| !names.is_empty()) else {
        return Err(source.whole_file_error("[[rented]] lacks `names`, a list of texts"));
    };
    let socket = section_of(source, table, "socket")?;
    check_keys(source, socket, &["complexes", "cores", "threads"], "`socket`")?;
    let whole =
        |table: &DeTable, key: &str| match table.get(key).map(|v| (v, number(v.get_ref()))) {
            Some((_, Some(n))) if n.fract() == 0.0 && (1.0..=4096.0).contains(&n) => Ok(n as usize),
            Some((v, _)) => Err(source
                .error(v.span(), format!("`{key}` is {}; allowed: 1 to 4096", kind(v.get_ref())))),
            None => Err(source.whole_file_error(format!("[[rented]] lacks `{key}`"))),
        };
    let sizes = section_of(source, table, "sizes")?;
    let sizes: Result<Vec<(String, usize)>> = sizes
        .keys()
        .map(|key| {
            let name: &str = key.get_ref();
            Ok((name.to_owned(), whole(sizes, name)?))
        })
        .collect();
    let mut sizes = sizes?;
    sizes.sort_by_key(|(_, cpus)| *cpus);
    Ok(Rented {
        prefixes,
        suffix: optional("suffix")?.unwrap_or_default(),
        sizes,
        machine: text_of(source, table, "machine")?,
        source: text_of(source, table, "source")?,
        assumed: optional("assumed")?,
        socket: Socket {
            complexes: whole(socket, "complexes")?,
            cores: whole(socket, "cores")?,
            threads: whole(socket, "threads")?,
        },
    })
}

fn texts(list: &DeArray) -> Option<Vec<String>> {
    list.iter().map(|text| text.get_ref().as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_stands_for_a_regular_machine_with_its_number_of_cpus() {
        let mut seen = std::collections::BTreeSet::new();
        for kind in rented() {
            for name in kind.names() {
                let machine = Machine::rented(&name).unwrap_or_else(|| panic!("{name}"));
                let cpus = kind.cpus(&name).expect("it is of this kind");
                assert_eq!(machine.hardware_threads(), cpus, "{name}");
                assert!(machine.notes().iter().any(|note| note.starts_with(&name)), "{name}");
                assert!(Machine::shipped(&name).is_none(), "{name}: two machines of one name");
                assert!(seen.insert(name.clone()), "{name} is given twice");
            }
        }
        assert!(seen.len() > 100, "{}", seen.len());
    }

    #[test]
    fn an_instance_is_a_part_of_a_processor() {
        let of = |name: &str| {
            let machine = Machine::rented(name).expect("it is listed");
            [
                machine.sockets(),
                machine.complexes(),
                machine.cores_per_complex(),
                machine.threads_per_core(),
            ]
        };
        assert_eq!(of("c6i.4xlarge"), [1, 1, 8, 2]);
        assert_eq!(of("c6i.metal"), [2, 2, 32, 2]);
        assert_eq!(of("c6a.16xlarge"), [1, 4, 8, 2]);
        assert_eq!(of("c7a.48xlarge"), [2, 24, 8, 1]);
        assert!(Machine::rented("c6i.5xlarge").is_none());
        let machine = Machine::rented("c6i.4xlarge").expect("it is listed");
        assert_eq!(machine.name(), "c6i.4xlarge");
        let whole = Machine::shipped("ice-lake-8375c-2s32c2t").expect("it is shipped");
        let leg = |machine: &Machine| machine.parameter("cycles.leg").map(|p| p.value.clone());
        assert_eq!(leg(&machine), leg(&whole), "the latencies stay");
    }

    #[test]
    fn an_instance_has_the_kernel_of_a_guest_unless_it_is_the_hardware() {
        let cost = |machine: &Machine, name: &str| machine.number(&format!("kernel.{name}"));
        let names = ["c6i.4xlarge", "c7g.16xlarge", "c3-standard-8", "Standard_D8s_v5"];
        for name in names {
            let machine = Machine::rented(name).expect("it is listed");
            assert_eq!(cost(&machine, "wakeup"), Some(6017.0), "{name}");
            assert_eq!(cost(&machine, "deep_after"), Some(200_000.0), "{name}");
            // The simulated machine is the machine that is shown.
            assert_eq!(machine.numbers().kernel.wakeup, 6017.0, "{name}");
            assert_eq!(machine.numbers().kernel.bucket, 490.0, "{name}");
            let wakeup = machine.parameter("kernel.wakeup").expect("every machine has it");
            let source = wakeup.source.as_deref().expect("it was measured");
            assert!(source.starts_with("kernel linux-guest: "), "{name}: {source}");
            assert_eq!(wakeup.assumed, None, "{name}");
            let note = machine.notes().last().expect("it has one");
            assert!(note.contains("sleeps and wake-ups a guest's"), "{note}");
        }
        for name in ["c6i.metal", "c7i.metal-24xl"] {
            let machine = Machine::rented(name).expect("it is listed");
            assert_eq!(cost(&machine, "wakeup"), Some(2000.0), "{name}");
            let note = machine.notes().last().expect("it has one");
            assert!(!note.contains("guest"), "{note}");
        }
    }

    #[test]
    fn a_broken_list_is_named_with_its_line() {
        let error = |text: &str| read("a.toml", text).expect_err("it is broken").to_string();
        assert!(error("x = 1").contains("has no `x`"));
        assert!(error("[[rented]]\nnames = []").contains("lacks `names`"));
        let good = &TEXT[TEXT.find("[[rented]]").expect("it has one")..];
        let bad = good.replacen("cores = 24", "cores = 1.5", 1);
        assert!(error(&bad).contains("`cores` is a number with a fraction"), "{}", error(&bad));
    }
}
