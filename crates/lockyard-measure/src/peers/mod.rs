//! Peers as variants of a scenario: other projects' locks from `lockyard-peers`, and locks from
//! shared objects, replace the scenario's lock. Also their descriptions in results.
//!
//! A peer becomes an ordinary variant of the script. The same interpreter measures it in the same
//! rounds, with the same checks. Simulated machines cannot run peers.

pub mod longest;

use lockyard_peers::loaded::{load, loaded};
use lockyard_peers::{PEERS, Peer, find};
use lockyard_results::row::Row;
use lockyard_scenarios::{ObjectKind, Script, Variant};
use lockyard_support::{InputError, hint, printable};
use std::path::Path;

/// Name that selects all peers.
pub const ALL: &str = "all";

/// Returns the peers in a list of names such as `spin,std-mutex`, or all peers for [`ALL`]. Each
/// peer is returned once, in the order of the table.
///
/// # Errors
///
/// If the list names an unknown peer.
pub fn parse(list: &str) -> Result<Vec<&'static Peer>, InputError> {
    if list == ALL {
        return Ok(PEERS.iter().collect());
    }
    let mut wanted = Vec::new();
    for name in list.split(',').map(str::trim) {
        let Some(peer) = find(name) else {
            let names: Vec<&str> = PEERS.iter().map(|peer| peer.name).collect();
            return Err(InputError(format!(
                "--peers: there is no peer `{}`; {}",
                printable(name),
                hint(name, &names, "there are")
            )));
        };
        wanted.push(peer.name);
    }
    Ok(PEERS.iter().filter(|peer| wanted.contains(&peer.name)).collect())
}

/// Adds the peers of `list` and the locks of the shared objects `files` to the script, and returns
/// the variants to measure. For [`ALL`], the peers are those with a shared mode if the script uses
/// that mode, and otherwise those without. These are the named variants of `script` (all if none is
/// named), the peers, and the files' locks.
///
/// # Errors
///
/// Same as for [`parse`] and [`add`]. Also if a peer is named as a variant, or a file has no lock.
pub fn choose(
    script: &mut Script,
    variants: &[String],
    list: Option<&str>,
    files: &[String],
) -> Result<Vec<String>, InputError> {
    if list.is_none() && files.is_empty() {
        return Ok(variants.to_vec());
    }
    // Look these up before adding the peers, because peers are selected only through their own
    // option.
    let own = self::variants(script, variants)?;
    let mut chosen: Vec<String> = own.iter().map(|variant| variant.name.clone()).collect();
    let mut peers = list.map(parse).transpose()?.unwrap_or_default();
    if list == Some(ALL) {
        // Peers that are reader-writer locks are placed next to each other.
        let shared = script.variants[0].takes_shared();
        peers.retain(|peer| peer.lock.has_shared() == shared);
    }
    add(script, "--peers", &peers)?;
    chosen.extend(peers.iter().map(|peer| peer.name.to_owned()));
    for file in files {
        let file = Path::new(file);
        let peer = load(file).map_err(|what| InputError(format!("--lock: {what}")))?;
        add(script, "--lock", &[peer])?;
        chosen.push(peer.name.to_owned());
    }
    Ok(chosen)
}

/// Returns the variants with these names; all variants if `names` is empty.
///
/// # Errors
///
/// If there is no such variant. If a peer has that name, the error says how to measure it.
pub fn variants<'s>(script: &'s Script, names: &[String]) -> Result<Vec<&'s Variant>, InputError> {
    let peer = |name: &&String| script.variant(name).is_none() && find(name).is_some();
    match names.iter().find(peer) {
        Some(name) => Err(InputError(not_simulated(name))),
        None => script.named_variants(names),
    }
}

/// Adds `peers` to the variants of `script`. Each peer runs the steps of the first variant, with
/// the peer's lock instead. `option` names them in errors.
///
/// # Errors
///
/// If the first variant has no lock with its own word, or if a variant has the same name as a peer,
/// or if it has readers and the peer has no shared mode.
pub fn add(script: &mut Script, option: &str, peers: &[&'static Peer]) -> Result<(), InputError> {
    let first = script.variants[0].clone();
    for peer in peers {
        let name = &script.name;
        if script.variant(peer.name).is_some() {
            let instead = match option {
                "--lock" => "give the lock another name by `const char lockyard_lock_name[]`",
                _ => "rename it, or name the peers to be measured: --peers=NAME,NAME",
            };
            return Err(InputError(format!(
                "{option}: scenario `{name}` has a variant `{}` already; {instead}",
                peer.name
            )));
        }
        if first.takes_shared() && !peer.lock.has_shared() {
            let shared = PEERS.iter().filter(|peer| peer.lock.has_shared());
            let shared: Vec<&str> = shared.map(|peer| peer.name).collect();
            return Err(InputError(format!(
                "{option}: scenario `{name}` has `lock-shared` steps, and `{}` has no shared mode; \
                 allowed: {}",
                peer.name,
                shared.join(", ")
            )));
        }
        let Some(variant) = first.with_foreign_lock(peer.name, peer.what, peer.lock) else {
            return Err(InputError(format!(
                "{option}: scenario `{name}` has no lock that a peer could replace; allowed: \
                 scenarios with an object of kind `lock`, such as {}",
                with_locks().join(", ")
            )));
        };
        script.variants.push(variant);
    }
    Ok(())
}

/// Returns the names of the shipped scenarios whose lock can be replaced by a peer.
fn with_locks() -> Vec<&'static str> {
    let has_lock = |name: &&str| {
        let script = Script::shipped(name).expect("it is shipped");
        let objects = &script.variants[0].objects;
        objects.iter().any(|object| matches!(object.kind, ObjectKind::Lock { .. }))
    };
    Script::names().filter(has_lock).collect()
}

fn not_simulated(name: &str) -> String {
    let from = find(name).map_or("foreign", |peer| peer.from);
    format!(
        "`{name}` is a peer (from {from}), native code that only a real host can run: \
         lockyard measure SCENARIO --peers={name}"
    )
}

/// Returns the description of this variant's lock if it is a peer.
pub fn described(variant: &Variant) -> Option<String> {
    let peer = variant.foreign_locks().next().and_then(find)?;
    Some(format!("{}: {}", peer.from, peer.what))
}

/// Returns true if the row's lock is a peer.
pub(crate) fn is_peer(row: &Row) -> bool {
    row.details.measured.as_ref().is_some_and(|measured| measured.peer.is_some())
}

/// Describes the peers among the rows for readers.
pub fn notes(script: &Script, rows: &[Row]) -> Vec<String> {
    let measured = |peer: &&Peer| {
        let here = |row: &Row| row.key.variant == peer.name && is_peer(row);
        rows.iter().any(here)
    };
    let each: Vec<String> = PEERS
        .iter()
        .chain(loaded())
        .filter(measured)
        .map(|peer| format!("{} ({}): {}", peer.name, peer.from, peer.what))
        .collect();
    if each.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "Peers do what variant {} does, each with its own lock. {}. The C library is {}.",
        script.variants[0].name,
        each.join(". "),
        c_library()
    )]
}

/// Returns the name and version of the C library, if it can report them.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn c_library() -> String {
    // SAFETY: the function takes no arguments. It returns a zero-terminated string that is never
    // freed.
    let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    format!("glibc {}", version.to_string_lossy())
}

/// Returns the name and version of the C library, if it can report them.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn c_library() -> String {
    "not known".to_owned()
}
