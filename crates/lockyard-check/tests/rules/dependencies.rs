//! The crates on which the project depends: their licences, their sources, and banned crates. The
//! lists are in `deny.toml`, which `cargo deny` also reads.

use crate::workspace::{metadata, try_metadata};
use lockyard_check::sources::workspace;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The lists of `deny.toml`.
struct Rules {
    licences: BTreeSet<String>,
    /// Licences that a crate may also have: the crate's name, and the licences.
    exceptions: BTreeMap<String, BTreeSet<String>>,
    registries: BTreeSet<String>,
    banned: BTreeSet<String>,
}

fn rules() -> Rules {
    let text = std::fs::read_to_string(workspace().join("deny.toml")).expect("it is committed");
    let deny: toml::Table = text.parse().expect("deny.toml is TOML");
    let list = |section: &str, name: &str| -> Vec<toml::Value> {
        deny[section][name].as_array().unwrap_or_else(|| panic!("{section}.{name}")).clone()
    };
    let text = |value: &toml::Value| value.as_str().expect("a text").to_owned();
    let exception = |value: &toml::Value| {
        let licences = value["allow"].as_array().expect("a list").iter().map(text).collect();
        (text(&value["crate"]), licences)
    };
    Rules {
        licences: list("licenses", "allow").iter().map(text).collect(),
        exceptions: list("licenses", "exceptions").iter().map(exception).collect(),
        registries: list("sources", "allow-registry").iter().map(text).collect(),
        banned: list("bans", "deny").iter().map(|ban| text(&ban["crate"])).collect(),
    }
}

/// Returns all packages: those of every platform if they are available, otherwise this host's.
fn packages() -> Vec<Value> {
    let all = try_metadata(&["--offline"]).or_else(|_| try_metadata(&[]));
    let found = all.unwrap_or_else(|error| {
        let first = error.lines().next().unwrap_or_default();
        lockyard_testing::skip!("crates for other platforms are not looked at: {first}");
        metadata(&["--offline", "--filter-platform", &host()])
    });
    found["packages"].as_array().expect("a list of packages").clone()
}

/// Returns the target of the installed compiler.
fn host() -> String {
    let output = std::process::Command::new("rustc").arg("-vV").output().expect("rustc runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("rustc says which host it is for").to_owned()
}

fn text<'a>(package: &'a Value, name: &str) -> &'a str {
    package[name].as_str().unwrap_or_default()
}

fn named(package: &Value) -> String {
    format!("{} {}", text(package, "name"), text(package, "version"))
}

#[test]
fn licences_and_sources_of_all_dependencies_are_allowed() {
    let rules = rules();
    let mut wrong = Vec::new();
    let mut used = BTreeSet::new();
    let mut excepted = BTreeSet::new();
    let packages = packages();
    let (mut own, mut foreign) = (0, 0);
    for package in &packages {
        let licence = text(package, "license");
        match Expression::parse(licence) {
            Some(expression) => {
                if !expression.is_allowed(&rules.licences) {
                    let exception = rules.exceptions.get(text(package, "name"));
                    excepted.insert(text(package, "name"));
                    if !exception.is_some_and(|licences| expression.is_allowed(licences)) {
                        wrong.push(format!("{}: licence `{licence}`", named(package)));
                    }
                }
                expression.collect(&mut used);
            }
            None => wrong.push(format!("{}: no licence that can be read", named(package))),
        }
        match package["source"].as_str() {
            None => own += 1,
            Some(source) => {
                foreign += 1;
                let registry = source.strip_prefix("registry+").unwrap_or_default();
                if !rules.registries.contains(registry) {
                    wrong.push(format!("{} comes from {source}", named(package)));
                }
            }
        }
        if rules.banned.contains(text(package, "name")) {
            wrong.push(format!("{} is banned", named(package)));
        }
    }
    for licence in rules.licences.difference(&used) {
        wrong.push(format!("no dependency has the licence {licence}: take it off deny.toml"));
    }
    for name in rules.exceptions.keys().filter(|name| !excepted.contains(name.as_str())) {
        wrong.push(format!("{name} needs no exception: take it off deny.toml"));
    }
    println!("{own} crates of the workspace, {foreign} from registries, licences {used:?}");
    assert!(own > 5 && foreign > 50, "{own} and {foreign} crates: not all were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_crate_stands_in_two_versions_because_ours_ask_for_two() {
    let metadata = metadata(&["--no-deps"]);
    let members = metadata["packages"].as_array().expect("a list of packages");
    let mut asked: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for member in members {
        for dependency in member["dependencies"].as_array().expect("a list") {
            let requirement = (text(dependency, "name"), text(dependency, "req"));
            asked.entry(requirement).or_default().insert(text(member, "name"));
        }
    }
    let mut wrong = Vec::new();
    let asked: Vec<_> = asked.into_iter().filter(|((_, wanted), _)| *wanted != "*").collect();
    for pair in asked.windows(2) {
        let [((first, one), by_one), ((second, other), by_other)] = pair else { continue };
        if first == second {
            wrong.push(format!("{first}: {by_one:?} ask for {one}, {by_other:?} for {other}"));
        }
    }
    println!("{} crates are asked for", asked.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A licence expression of SPDX.
#[derive(Debug, PartialEq, Eq)]
enum Expression {
    Licence(String),
    All(Box<Expression>, Box<Expression>),
    Any(Box<Expression>, Box<Expression>),
}

impl Expression {
    /// Reads an expression. A slash, which old packages have, means `OR`.
    fn parse(text: &str) -> Option<Expression> {
        let spaced = text.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
        let mut words = spaced.split_whitespace().peekable();
        let expression = Expression::any(&mut words)?;
        words.next().is_none().then_some(expression)
    }

    fn any<'a>(words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>) -> Option<Self> {
        let mut left = Expression::all(words)?;
        while words.next_if_eq(&"OR").is_some() {
            left = Expression::Any(Box::new(left), Box::new(Expression::all(words)?));
        }
        Some(left)
    }

    fn all<'a>(words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>) -> Option<Self> {
        let mut left = Expression::one(words)?;
        while words.next_if_eq(&"AND").is_some() {
            left = Expression::All(Box::new(left), Box::new(Expression::one(words)?));
        }
        Some(left)
    }

    fn one<'a>(words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>) -> Option<Self> {
        match words.next()? {
            "(" => {
                let inner = Box::new(Expression::any(words)?);
                words.next_if_eq(&")").map(|_| *inner)
            }
            ")" | "AND" | "OR" | "WITH" => None,
            name => match words.next_if_eq(&"WITH") {
                Some(_) => Some(Expression::Licence(format!("{name} WITH {}", words.next()?))),
                None => Some(Expression::Licence(name.to_owned())),
            },
        }
    }

    fn is_allowed(&self, allowed: &BTreeSet<String>) -> bool {
        match self {
            Expression::Licence(name) => allowed.contains(name),
            Expression::All(a, b) => a.is_allowed(allowed) && b.is_allowed(allowed),
            Expression::Any(a, b) => a.is_allowed(allowed) || b.is_allowed(allowed),
        }
    }

    fn collect(&self, names: &mut BTreeSet<String>) {
        match self {
            Expression::Licence(name) => {
                names.insert(name.clone());
            }
            Expression::All(a, b) | Expression::Any(a, b) => {
                a.collect(names);
                b.collect(names);
            }
        }
    }
}

#[test]
fn licence_expressions_are_read() {
    let allowed = BTreeSet::from(["MIT", "Unicode-3.0"].map(str::to_owned));
    for (text, expected) in [
        ("MIT", Some(true)),
        ("GPL-3.0-only", Some(false)),
        ("MIT/Apache-2.0", Some(true)),
        ("GPL-2.0-only OR MIT", Some(true)),
        ("MIT AND GPL-2.0-only", Some(false)),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", Some(true)),
        ("MIT OR Apache-2.0 AND GPL-2.0-only", Some(true)),
        ("MIT WITH some-exception", Some(false)),
        ("", None),
        ("MIT OR", None),
        ("(MIT", None),
        ("MIT Apache-2.0", None),
    ] {
        let found = Expression::parse(text).map(|expression| expression.is_allowed(&allowed));
        assert_eq!(found, expected, "{text}");
    }
}
