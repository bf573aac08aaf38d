//! Origins of names: the file that defines the target of a path, through imports, re-exports and
//! globs.

use super::modules::{Mention, Tree};
use std::collections::{BTreeMap, BTreeSet};

/// Target of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    /// A module of this target.
    Module(usize),
    /// An item that this module defines.
    Item(usize),
    /// An item of another crate or of the language.
    Foreign,
}

/// Names by which a file uses another one.
pub(crate) type Names = BTreeSet<String>;

/// The arrows from the files of a target to other files and crates.
#[derive(Default)]
pub(crate) struct Arrows {
    /// Arrows between files, by their indices: from, to.
    pub(crate) files: BTreeMap<(usize, usize), Names>,
    /// Arrows to crates of the workspace (with underscores), with the files that they start from.
    pub(crate) crates: BTreeMap<String, BTreeSet<usize>>,
}

/// Finds all arrows of a target. `crates` are those of the workspace, with underscores.
pub(crate) fn arrows(tree: &Tree, crates: &BTreeSet<String>) -> Arrows {
    let mut arrows = Arrows::default();
    for (index, module) in tree.modules.iter().enumerate() {
        for import in &module.imports {
            // An import of a module counts as an arrow only where the module is used.
            let found = tree.resolve(index, &import.path, &mut Visited::new());
            arrows.add(tree, index, found, &import.path, crates);
        }
        let mut used = BTreeSet::new();
        for mention in &module.mentions {
            let found = tree.meaning(index, mention);
            // A single word equals a crate's name only by chance.
            if found != Meaning::Foreign || mention.path.len() > 1 {
                arrows.add(tree, index, found, &mention.path, crates);
            }
            if let Meaning::Item(other) = found {
                used.insert(tree.modules[other].file);
            }
        }
        for glob in &module.globs {
            match tree.resolve(index, glob, &mut Visited::new()) {
                // Names created by a macro are unknown. The arrow then leads to the module's own
                // file.
                Meaning::Module(other) if used.is_empty() => {
                    arrows.add(tree, index, Meaning::Item(other), glob, crates);
                }
                found => arrows.add(tree, index, found, glob, crates),
            }
        }
    }
    arrows
}

impl Arrows {
    fn add(
        &mut self,
        tree: &Tree,
        from: usize,
        found: Meaning,
        path: &[String],
        crates: &BTreeSet<String>,
    ) {
        let file = tree.modules[from].file;
        match found {
            Meaning::Item(other) if tree.modules[other].file != file => {
                let names = self.files.entry((file, tree.modules[other].file)).or_default();
                names.insert(path.last().cloned().unwrap_or_default());
            }
            Meaning::Foreign if crates.contains(&path[0]) => {
                self.crates.entry(path[0].clone()).or_default().insert(file);
            }
            _ => {}
        }
    }
}

/// Names that are being looked up. They stop the search if imports form a ring.
type Visited = BTreeSet<(usize, String)>;

impl Tree {
    fn meaning(&self, module: usize, mention: &Mention) -> Meaning {
        let found = self.resolve(module, &mention.path, &mut Visited::new());
        if !mention.is_macro || found != Meaning::Foreign || mention.path.len() > 1 {
            return found;
        }
        // After its definition, a macro can be used by its plain name.
        let defines = |index: &usize| self.modules[*index].macros.contains(&mention.path[0]);
        (0..self.modules.len()).find(defines).map_or(Meaning::Foreign, Meaning::Item)
    }

    /// Finds the target of `path` in `module`.
    fn resolve(&self, module: usize, path: &[String], visited: &mut Visited) -> Meaning {
        let mut rest = path;
        let mut at = Meaning::Module(module);
        let mut is_anchored = false;
        while let Some(first) = rest.first() {
            let Meaning::Module(here) = at else { return at };
            at = match first.as_str() {
                "crate" => Meaning::Module(0),
                "self" => at,
                "super" => Meaning::Module(self.modules[here].parent.unwrap_or(0)),
                name => match self.look_up(here, name, visited) {
                    Some(found) => found,
                    // An item created by a macro.
                    None if is_anchored => Meaning::Item(here),
                    None => Meaning::Foreign,
                },
            };
            is_anchored = true;
            rest = &rest[1..];
        }
        at
    }

    /// Finds the target of a name in `module`, among its declarations, definitions and imports.
    fn look_up(&self, module: usize, name: &str, visited: &mut Visited) -> Option<Meaning> {
        let key = (module, name.to_owned());
        if !visited.insert(key.clone()) {
            return None;
        }
        let found = self.look_up_once(module, name, visited);
        visited.remove(&key);
        found
    }

    fn look_up_once(&self, module: usize, name: &str, visited: &mut Visited) -> Option<Meaning> {
        let this = &self.modules[module];
        if let Some(&child) = this.children.get(name) {
            return Some(Meaning::Module(child));
        }
        if this.items.contains(name) {
            return Some(Meaning::Item(module));
        }
        if let Some(import) = this.imports.iter().find(|import| import.name == name) {
            return Some(self.resolve(module, &import.path, visited));
        }
        this.globs.iter().find_map(|glob| match self.resolve(module, glob, visited) {
            Meaning::Module(other) => self.look_up(other, name, visited),
            _ => None,
        })
    }
}
