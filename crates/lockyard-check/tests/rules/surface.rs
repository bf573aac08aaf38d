//! The public surface of the library and of its tables: a committed listing, so that every change
//! of it is seen; enums that may grow; tests of variance and of `Send` and `Sync` for each generic
//! type.
//!
//! `LOCKYARD_BLESS=1 cargo test -p lockyard-check --test rules surface::` writes the listings
//! again. A listing names each public item at the place of its source. (The lint `unreachable_pub`
//! sees to it that such an item can be reached.) Items that a macro makes are listed as the macro's
//! call.

use lockyard_check::sources::{rust_files, workspace};
use quote::ToTokens;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use syn::{Attribute, Fields, ImplItem, Item, Visibility};

const CRATES: [&str; 2] = ["lockyard", "lockyard-tables"];

/// Enums that are complete: their values are all that there can be, and a user must handle each.
const COMPLETE: &[(&str, &str)] = &[
    ("Budget", "hosts of users implement waits, and must handle every budget"),
    ("Count", "a count is a number, too large to count, or dead"),
    ("Direction", "a packet goes one way or the other"),
    ("References", "a page has references, is frozen, or is beyond the maximum"),
    ("Waits", "a model explores waits in these ways, which a check names"),
    ("Parking", "a park ends in these ways, which a check names"),
];

/// Returns all source files of a crate, sorted.
fn files(package: &str) -> Vec<PathBuf> {
    rust_files(&format!("crates/{package}/src"))
}

fn parsed(path: &Path) -> syn::File {
    let text = fs::read_to_string(path).expect("a source file is text");
    syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn has(attributes: &[Attribute], name: &str) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident(name))
}

/// Returns tokens as one line, without most of the spaces between them.
fn line(tokens: impl ToTokens) -> String {
    const JOINED: [(&str, &str); 17] = [
        (" :: ", "::"),
        (":: ", "::"),
        (" ::", "::"),
        (" < ", "<"),
        ("< ", "<"),
        (" <", "<"),
        (" >", ">"),
        (" ,", ","),
        (",)", ")"),
        ("& ", "&"),
        (" :", ":"),
        (" (", "("),
        ("( ", "("),
        (" )", ")"),
        ("# [", "#["),
        ("? Sized", "?Sized"),
        ("fn(", "fn ("),
    ];
    let text = tokens.to_token_stream().to_string();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    JOINED.iter().fold(text, |text, (from, to)| text.replace(from, to))
}

/// Returns what of an attribute list belongs to the surface.
fn kept(attributes: &[Attribute]) -> String {
    const KEPT: [&str; 5] = ["cfg", "non_exhaustive", "repr", "must_use", "deprecated"];
    let kept = attributes.iter().filter(|a| KEPT.iter().any(|name| a.path().is_ident(name)));
    kept.map(|attribute| line(attribute) + " ").collect()
}

/// Lists public items, one a line.
struct Listing(Vec<String>);

impl Listing {
    fn add(&mut self, attributes: &[Attribute], text: &str) {
        self.0.push(format!("{}{text}", kept(attributes)));
    }

    fn fields(fields: &Fields) -> String {
        let shown: Vec<String> = fields
            .iter()
            .map(|field| match (&field.ident, is_public(&field.vis)) {
                (Some(name), true) => format!("pub {name}: {}", line(&field.ty)),
                (None, true) => format!("pub {}", line(&field.ty)),
                (_, false) => "_".to_owned(),
            })
            .filter(|field| field != "_")
            .collect();
        if shown.is_empty() { String::new() } else { format!(" {{ {} }}", shown.join(", ")) }
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::Fn(it) if is_public(&it.vis) => {
                self.add(&it.attrs, &format!("pub {}", line(&it.sig)))
            }
            Item::Const(it) if is_public(&it.vis) => {
                self.add(&it.attrs, &format!("pub const {}: {}", it.ident, line(&it.ty)));
            }
            Item::Static(it) if is_public(&it.vis) => {
                self.add(&it.attrs, &format!("pub static {}: {}", it.ident, line(&it.ty)));
            }
            Item::Type(it) if is_public(&it.vis) => {
                let (generics, to) = (line(&it.generics), line(&it.ty));
                self.add(&it.attrs, &format!("pub type {}{generics} = {to}", it.ident));
            }
            Item::Use(it) if is_public(&it.vis) => {
                self.add(&it.attrs, &format!("pub use {}", line(&it.tree)));
            }
            Item::Mod(it) => {
                if is_public(&it.vis) {
                    self.add(&it.attrs, &format!("pub mod {}", it.ident));
                }
                if !has(&it.attrs, "cfg") || is_public(&it.vis) {
                    it.content.iter().flat_map(|(_, items)| items).for_each(|item| self.item(item));
                }
            }
            Item::Struct(it) if is_public(&it.vis) => {
                let head = format!("pub struct {}{}", it.ident, line(&it.generics));
                let bounds = it
                    .generics
                    .where_clause
                    .as_ref()
                    .map_or(String::new(), |w| " ".to_owned() + &line(w));
                self.add(&it.attrs, &format!("{head}{bounds}{}", Self::fields(&it.fields)));
            }
            Item::Enum(it) if is_public(&it.vis) => {
                let variants: Vec<String> =
                    it.variants.iter().map(|v| format!("{}{}", v.ident, line(&v.fields))).collect();
                let (generics, variants) = (line(&it.generics), variants.join(", "));
                self.add(&it.attrs, &format!("pub enum {}{generics} {{ {variants} }}", it.ident));
            }
            Item::Trait(it) if is_public(&it.vis) => {
                let bounds = line(&it.supertraits);
                let unsafety = it.unsafety.map_or("", |_| "unsafe ");
                let name =
                    format!("pub {unsafety}trait {}{}: {bounds}", it.ident, line(&it.generics));
                self.add(&it.attrs, &name);
                for item in &it.items {
                    self.trait_item(&it.ident.to_string(), item);
                }
            }
            Item::Impl(it) => self.implementation(it),
            Item::Macro(it) if it.ident.is_none() => {
                let tokens = line(&it.mac.tokens);
                let short: String = tokens.chars().take(400).collect();
                self.add(&it.attrs, &format!("{}! {{ {short} }}", line(&it.mac.path)));
            }
            Item::Macro(it) if has(&it.attrs, "macro_export") => {
                let name = it.ident.as_ref().expect("a definition has a name");
                self.add(&it.attrs, &format!("macro_rules! {name}"));
            }
            _ => {}
        }
    }

    fn trait_item(&mut self, name: &str, item: &syn::TraitItem) {
        match item {
            syn::TraitItem::Fn(it) => {
                let default = it.default.as_ref().map_or("", |_| " { .. }");
                self.add(&it.attrs, &format!("{name}: {}{default}", line(&it.sig)));
            }
            syn::TraitItem::Const(it) => {
                let default = it.default.as_ref().map_or("", |_| " = ..");
                let text = format!("{name}: const {}: {}{default}", it.ident, line(&it.ty));
                self.add(&it.attrs, &text);
            }
            syn::TraitItem::Type(it) => {
                let bounds = line(&it.bounds);
                self.add(
                    &it.attrs,
                    &format!("{name}: type {}{}: {bounds}", it.ident, line(&it.generics)),
                );
            }
            _ => {}
        }
    }

    fn implementation(&mut self, it: &syn::ItemImpl) {
        let (generics, of) = (line(&it.generics), line(&it.self_ty));
        let bounds =
            it.generics.where_clause.as_ref().map_or(String::new(), |w| " ".to_owned() + &line(w));
        if let Some((path, _)) = &it.trait_ {
            let unsafety = it.unsafety.map_or("", |_| "unsafe ");
            self.add(
                &it.attrs,
                &format!("{unsafety}impl{generics} {} for {of}{bounds}", line(path)),
            );
            return;
        }
        for item in &it.items {
            let (attributes, text) = match item {
                ImplItem::Fn(it) if is_public(&it.vis) => (&it.attrs, line(&it.sig)),
                ImplItem::Const(it) if is_public(&it.vis) => {
                    (&it.attrs, format!("const {}: {}", it.ident, line(&it.ty)))
                }
                _ => continue,
            };
            self.add(attributes, &format!("impl{generics} {of}{bounds}: pub {text}"));
        }
    }
}

/// Returns the listing of a crate.
fn surface(package: &str) -> String {
    let root = workspace().join("crates").join(package).join("src");
    let mut text = String::new();
    for path in files(package) {
        let mut listing = Listing(Vec::new());
        parsed(&path).items.iter().for_each(|item| listing.item(item));
        if !listing.0.is_empty() {
            let name = path.strip_prefix(&root).expect("below the root").display().to_string();
            text += &format!("# {name}\n{}\n\n", listing.0.join("\n"));
        }
    }
    text
}

#[test]
fn a_change_of_the_public_surface_is_committed_with_its_listing() {
    for package in CRATES {
        let path = workspace().join("crates").join(package).join("public-api.txt");
        let now = surface(package);
        assert!(now.lines().count() > 50, "{package}: only {} lines", now.lines().count());
        if std::env::var_os("LOCKYARD_BLESS").is_some() {
            fs::write(&path, &now).expect("the listing can be written");
        }
        let committed = fs::read_to_string(&path).unwrap_or_default();
        let (old, new): (BTreeSet<&str>, BTreeSet<&str>) =
            (committed.lines().collect(), now.lines().collect());
        let gone: Vec<_> = old.difference(&new).collect();
        let added: Vec<_> = new.difference(&old).collect();
        assert!(
            committed == now,
            "{package}: the public surface changed. Gone: {gone:#?}, added: {added:#?}. If that is \
             meant, write the listing again: see the beginning of {}",
            file!()
        );
    }
}

#[test]
fn a_public_enum_may_grow_or_is_complete() {
    let mut unused: BTreeSet<&str> = COMPLETE.iter().map(|(name, _)| *name).collect();
    let mut wrong = Vec::new();
    let mut seen = 0;
    for path in CRATES.iter().flat_map(|package| files(package)) {
        for item in parsed(&path).items {
            let Item::Enum(it) = item else { continue };
            if !is_public(&it.vis) {
                continue;
            }
            seen += 1;
            let name = it.ident.to_string();
            let is_complete = unused.remove(name.as_str());
            if is_complete == has(&it.attrs, "non_exhaustive") {
                wrong.push(format!("{}: {name}", path.display()));
            }
        }
    }
    assert!(seen > 10, "only {seen} enums were seen");
    assert!(wrong.is_empty(), "say `#[non_exhaustive]`, or why not in COMPLETE: {wrong:#?}");
    assert!(unused.is_empty(), "no such enum: {unused:?}");
}

const MARKER: &str = "a marker, invariant itself: no value exists";
const INSIDE: &str = "inside a table, which has a test";

/// Types of which no value exists, or that hold nothing of their parameters, or whose parameters
/// mean nothing for the meaning of a value.
const NO_VARIANCE: &[(&str, &str)] = &[
    ("lockyard Adaptive", MARKER),
    ("lockyard Announcement", "the platform's memory, which safe code cannot change"),
    ("lockyard BoxedWords", "words of the model checker, for one lock"),
    ("lockyard BudgetSpent", "a number that is returned"),
    ("lockyard CheckedCell", "a cell of the model checker, invariant by loom's"),
    ("lockyard ChosenSpinLock", "in variance.rs by its name for guards, RawChosenLock"),
    ("lockyard CmpxchgOf", MARKER),
    ("lockyard High", "a reference to a word, made for one call"),
    ("lockyard Hooked", MARKER),
    ("lockyard HookedAtomics", MARKER),
    ("lockyard HookedWord", "the word that it wraps"),
    ("lockyard ParkingLike", MARKER),
    ("lockyard Portable", MARKER),
    ("lockyard PortableAtomics", MARKER),
    ("lockyard PortableWord", "the word that it wraps"),
    ("lockyard QueueNode", "the platform's memory, which safe code cannot change"),
    ("lockyard Static", MARKER),
    ("lockyard ThreeStates", MARKER),
    ("lockyard Whole", "a reference to a word, made for one call"),
    ("lockyard-tables AllRecords", INSIDE),
    ("lockyard-tables Bucket", INSIDE),
    ("lockyard-tables FixedHash", MARKER),
    ("lockyard-tables GetError", "an error of the caller's, which is returned"),
    ("lockyard-tables InDomain", INSIDE),
    ("lockyard-tables InsertError", "a value of the caller's, which is returned"),
    ("lockyard-tables Locked", MARKER),
    ("lockyard-tables NodeRecords", INSIDE),
    ("lockyard-tables OneRecord", INSIDE),
    ("lockyard-tables Refused", "an error that holds a connection, which is invariant"),
    ("lockyard-tables Room", INSIDE),
    ("lockyard-tables Shard", INSIDE),
    ("lockyard-tables Shards", INSIDE),
    ("lockyard-tables ThreadRecords", INSIDE),
    ("lockyard-tables TreePerGroup", MARKER),
    ("lockyard-tables Wanted", INSIDE),
    ("lockyard-tables WideHash", MARKER),
    ("lockyard-tables Why", "an error that holds a connection, which is invariant"),
];

/// Returns the public structures and enums with type parameters.
fn generic_types(package: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for path in files(package) {
        for item in parsed(&path).items {
            let (visibility, name, generics) = match &item {
                Item::Struct(it) => (&it.vis, &it.ident, &it.generics),
                Item::Enum(it) => (&it.vis, &it.ident, &it.generics),
                _ => continue,
            };
            if is_public(visibility) && generics.type_params().next().is_some() {
                found.insert(name.to_string());
            }
        }
    }
    found
}

#[test]
fn every_generic_type_has_a_test_of_its_variance() {
    let mut unused: BTreeSet<&str> = NO_VARIANCE.iter().map(|(name, _)| *name).collect();
    let mut missing = Vec::new();
    for package in CRATES {
        let part = package.strip_prefix("lockyard-").unwrap_or(package);
        let folder = workspace().join("crates/lockyard-refused/tests/ui").join(part);
        let files = ["variance.rs", "variance_of_hosts.rs"].map(|name| folder.join(name));
        let words: String = files.iter().flat_map(fs::read_to_string).collect();
        let words: BTreeSet<&str> =
            words.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        for name in generic_types(package) {
            let full = format!("{package} {name}");
            let is_excepted = unused.remove(full.as_str());
            if words.contains(name.as_str()) == is_excepted {
                missing.push(full);
            }
        }
    }
    assert!(
        missing.is_empty(),
        "name them in lockyard-refused/tests/ui/*/variance.rs or in NO_VARIANCE: {missing:#?}"
    );
    assert!(unused.is_empty(), "no such type: {unused:?}");
}
