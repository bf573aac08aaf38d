//! The module tree of one target: the modules of each file, the definitions of each module, and
//! every path that it names.
//!
//! Paths are read from the tokens. A path inside a function or a macro therefore counts like a
//! `use` at the top. Modules and items under `#[cfg(test)]` are left out. All other conditions
//! count as true. If two modules share a name, the name refers to the first, and both are read.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, ExprLit, Item, Lit, Meta, UseTree};

/// A module, in its own file or inline in another one.
#[derive(Default)]
pub(crate) struct Module {
    /// Index of its file.
    pub(crate) file: usize,
    /// Index of the module around it; the root has none.
    pub(crate) parent: Option<usize>,
    /// Modules declared here, by name.
    pub(crate) children: BTreeMap<String, usize>,
    /// Names of all other items defined here.
    pub(crate) items: BTreeSet<String>,
    /// Names of those items that are macros.
    pub(crate) macros: BTreeSet<String>,
    /// Imports, anywhere in the module.
    pub(crate) imports: Vec<Import>,
    /// Modules and types from which everything is imported.
    pub(crate) globs: Vec<Vec<String>>,
    /// Paths outside `use` declarations.
    pub(crate) mentions: Vec<Mention>,
}

/// One name that a `use` declaration imports.
pub(crate) struct Import {
    /// Name that the import has here.
    pub(crate) name: String,
    pub(crate) path: Vec<String>,
}

/// A path in code.
pub(crate) struct Mention {
    pub(crate) path: Vec<String>,
    /// True if an exclamation mark follows.
    pub(crate) is_macro: bool,
}

/// All modules of a target. The root comes first.
pub(crate) struct Tree {
    pub(crate) modules: Vec<Module>,
    /// Files; the modules hold indices into this list.
    pub(crate) files: Vec<PathBuf>,
    /// Pairs of files: the first refers to the second by its path on disk, with `#[path]` or
    /// `include!`.
    pub(crate) by_path: Vec<(PathBuf, PathBuf)>,
}

/// Directories in which the files of a module's children are.
struct Place<'a> {
    /// Directory of the file that declares them.
    folder: &'a Path,
    /// Directory of the children's files: `folder` plus the names of the modules in between.
    children: PathBuf,
}

impl Tree {
    /// Reads a target from its first file. `package` is the directory of its Cargo.toml.
    ///
    /// # Panics
    ///
    /// Panics if a file does not exist, or is not Rust.
    pub(crate) fn read(root: &Path, package: &Path) -> Tree {
        let mut tree = Tree { modules: Vec::new(), files: Vec::new(), by_path: Vec::new() };
        tree.read_file(root, None, true, package);
        tree
    }

    /// Reads a module from its file, and returns its index. `owns_folder` is true if its children
    /// are in the same directory.
    fn read_file(
        &mut self,
        path: &Path,
        parent: Option<usize>,
        owns_folder: bool,
        package: &Path,
    ) -> usize {
        let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let parsed = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let file = self.files.len();
        self.files.push(path.to_path_buf());
        let module = self.add(Module { file, parent, ..Module::default() });
        let folder = path.parent().expect("a file lies in a folder");
        let children = match owns_folder {
            true => folder.to_path_buf(),
            false => folder.join(path.file_stem().expect("a file has a name")),
        };
        self.read_items(parsed.items, module, &Place { folder, children }, package);
        module
    }

    fn add(&mut self, module: Module) -> usize {
        self.modules.push(module);
        self.modules.len() - 1
    }

    fn read_items(&mut self, items: Vec<Item>, module: usize, place: &Place<'_>, package: &Path) {
        for item in items {
            if attributes(&item).iter().any(is_for_tests) {
                continue;
            }
            match item {
                Item::Mod(item) => self.read_module(item, module, place, package),
                other => {
                    let name = name_of(&other);
                    if matches!(other, Item::Macro(_)) {
                        self.modules[module].macros.extend(name.clone());
                    }
                    self.modules[module].items.extend(name);
                    let mut found = Found::new(place.folder, package);
                    found.walk(other.to_token_stream());
                    let from = self.files[self.modules[module].file].clone();
                    self.by_path.extend(found.included.into_iter().map(|to| (from.clone(), to)));
                    let this = &mut self.modules[module];
                    this.imports.extend(found.imports);
                    this.globs.extend(found.globs);
                    this.mentions.extend(found.mentions);
                }
            }
        }
    }

    fn read_module(
        &mut self,
        item: syn::ItemMod,
        parent: usize,
        place: &Place<'_>,
        package: &Path,
    ) {
        let name = item.ident.to_string();
        let file = self.modules[parent].file;
        let child = match item.content {
            Some((_, items)) => {
                let child = self.add(Module { file, parent: Some(parent), ..Module::default() });
                let children = place.children.join(&name);
                let place = Place { folder: place.folder, children };
                self.read_items(items, child, &place, package);
                child
            }
            None => {
                let path = item.attrs.iter().find_map(path_of);
                let beside = place.children.join(format!("{name}.rs"));
                let below = place.children.join(&name).join("mod.rs");
                let usual = match (beside.exists(), below.exists()) {
                    (true, _) => Some((beside, false)),
                    (_, true) => Some((below, true)),
                    _ => None,
                };
                let usual =
                    usual.filter(|_| path.as_ref().is_none_or(|(_, conditional)| *conditional));
                let named = path.map(|(path, _)| (normal(&place.folder.join(path)), true));
                if let Some((path, _)) = &named {
                    self.by_path.push((self.files[file].clone(), path.clone()));
                }
                let found = usual.into_iter().chain(named);
                let modules: Vec<usize> = found
                    .map(|(path, owns_folder)| {
                        self.read_file(&path, Some(parent), owns_folder, package)
                    })
                    .collect();
                *modules.first().unwrap_or_else(|| panic!("module {name} has no file"))
            }
        };
        self.modules[parent].children.entry(name).or_insert(child);
    }
}

/// Names in the tokens of an item.
struct Found<'a> {
    /// Directory of the file.
    place: &'a Path,
    package: &'a Path,
    imports: Vec<Import>,
    globs: Vec<Vec<String>>,
    mentions: Vec<Mention>,
    included: Vec<PathBuf>,
}

impl<'a> Found<'a> {
    fn new(place: &'a Path, package: &'a Path) -> Found<'a> {
        Found {
            place,
            package,
            imports: Vec::new(),
            globs: Vec::new(),
            mentions: Vec::new(),
            included: Vec::new(),
        }
    }

    fn walk(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            at = match &tokens[at] {
                TokenTree::Ident(word) if word == "use" => self.read_use(&tokens, at),
                TokenTree::Ident(_) if !is_continued(&tokens, at) => self.read_path(&tokens, at),
                TokenTree::Group(group) => {
                    self.walk(group.stream());
                    at + 1
                }
                _ => at + 1,
            };
        }
    }

    /// Reads `use ...;` from `at`, and returns the index after it.
    fn read_use(&mut self, tokens: &[TokenTree], at: usize) -> usize {
        // `impl Trait + use<'a>` is not an import.
        let is_capture = tokens.get(at + 1).is_some_and(|token| is_punct(token, '<'));
        let end = tokens[at..].iter().position(|token| is_punct(token, ';'));
        let Some(length) = end.filter(|_| !is_capture) else { return at + 1 };
        // In a macro's body a path begins with `$crate`.
        let plain = tokens[at..=at + length].iter().filter(|token| !is_punct(token, '$')).cloned();
        if let Ok(item) = syn::parse2::<syn::ItemUse>(plain.collect()) {
            self.flatten(&item.tree, &mut Vec::new());
        }
        at + length + 1
    }

    fn flatten(&mut self, tree: &UseTree, before: &mut Vec<String>) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.flatten(&path.tree, before);
                before.pop();
            }
            UseTree::Name(name) if name.ident == "self" => {
                let name = before.last().cloned().unwrap_or_default();
                self.imports.push(Import { name, path: before.clone() });
            }
            UseTree::Name(name) => self.import(&name.ident, &name.ident, before),
            UseTree::Rename(name) => self.import(&name.rename, &name.ident, before),
            UseTree::Glob(_) => self.globs.push(before.clone()),
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.flatten(tree, before));
            }
        }
    }

    fn import(&mut self, known_as: &syn::Ident, last: &syn::Ident, before: &[String]) {
        let mut path = before.to_vec();
        if last != "self" {
            path.push(last.to_string());
        }
        self.imports.push(Import { name: known_as.to_string(), path });
    }

    /// Reads `a::b::c` from `at`, and returns the index after it.
    fn read_path(&mut self, tokens: &[TokenTree], at: usize) -> usize {
        let mut path = Vec::new();
        let mut next = at;
        while let Some(TokenTree::Ident(word)) = tokens.get(next) {
            path.push(word.to_string());
            next += 1;
            match is_double_colon(tokens, next)
                && matches!(tokens.get(next + 2), Some(TokenTree::Ident(_)))
            {
                true => next += 2,
                false => break,
            }
        }
        let is_macro = tokens.get(next).is_some_and(|token| is_punct(token, '!'))
            && matches!(tokens.get(next + 1), Some(TokenTree::Group(_)));
        if is_macro
            && ["include", "include_str"].contains(&path[path.len() - 1].as_str())
            && let Some(TokenTree::Group(group)) = tokens.get(next + 1)
        {
            self.included.extend(included(group.stream(), self.place, self.package));
        }
        self.mentions.push(Mention { path, is_macro });
        next
    }
}

/// Returns the Rust file that `include!` or `include_str!` names, if it is one.
fn included(argument: TokenStream, folder: &Path, package: &Path) -> Option<PathBuf> {
    let text = argument.to_string();
    if text.contains("OUT_DIR") {
        return None;
    }
    let mut name = String::new();
    literals(argument, &mut name);
    let path = match name.strip_prefix("CARGO_MANIFEST_DIR") {
        Some(rest) => package.join(rest.trim_start_matches('/')),
        None => folder.join(name),
    };
    path.extension().is_some_and(|extension| extension == "rs").then(|| normal(&path))
}

/// Appends the texts of all string literals.
fn literals(tokens: TokenStream, text: &mut String) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => literals(group.stream(), text),
            TokenTree::Literal(literal) => {
                if let Ok(literal) = syn::parse_str::<syn::LitStr>(&literal.to_string()) {
                    text.push_str(&literal.value());
                }
            }
            _ => {}
        }
    }
}

fn is_punct(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted)
}

fn is_double_colon(tokens: &[TokenTree], at: usize) -> bool {
    let is_colon = |at: usize| tokens.get(at).is_some_and(|token| is_punct(token, ':'));
    is_colon(at) && is_colon(at + 1)
}

/// Returns true if a name continues the token before it. The name is then a field, a method, a
/// lifetime, or the rest of a path after `>::`.
fn is_continued(tokens: &[TokenTree], at: usize) -> bool {
    let is = |back: usize, wanted| at >= back && is_punct(&tokens[at - back], wanted);
    // `..name` is a range or the rest of a struct, so the name is a path.
    (is(1, '.') && !is(2, '.')) || is(1, '\'') || (at >= 2 && is_double_colon(tokens, at - 2))
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn name_of(item: &Item) -> Option<String> {
    Some(match item {
        Item::Const(item) => item.ident.to_string(),
        Item::Enum(item) => item.ident.to_string(),
        Item::Fn(item) => item.sig.ident.to_string(),
        Item::Macro(item) => item.ident.as_ref()?.to_string(),
        Item::Static(item) => item.ident.to_string(),
        Item::Struct(item) => item.ident.to_string(),
        Item::Trait(item) => item.ident.to_string(),
        Item::Type(item) => item.ident.to_string(),
        Item::Union(item) => item.ident.to_string(),
        _ => return None,
    })
}

/// Returns true for `#[cfg(test)]` and `#[cfg(all(test, ...))]`.
fn is_for_tests(attribute: &Attribute) -> bool {
    let Ok(list) = attribute.meta.require_list() else { return false };
    let condition = list.tokens.to_string();
    list.path.is_ident("cfg") && (condition == "test" || condition.starts_with("all (test"))
}

/// Returns the text of `#[path = "..."]`, and true if a `cfg_attr` makes it conditional.
fn path_of(attribute: &Attribute) -> Option<(String, bool)> {
    let (metas, is_conditional) = match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg_attr") => {
            let parser = Punctuated::<Meta, syn::Token![,]>::parse_terminated;
            (list.parse_args_with(parser).ok()?.into_iter().collect(), true)
        }
        other => (vec![other.clone()], false),
    };
    metas.into_iter().find_map(|meta| match meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => match pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some((text.value(), is_conditional)),
            _ => None,
        },
        _ => None,
    })
}

/// Returns `path` without inner `.` and `..`.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => {
                normal.pop();
            }
            std::path::Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}
