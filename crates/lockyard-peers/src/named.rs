//! The peer with a name, wherever it comes from.

use crate::loaded::loaded;
use crate::peer::Peer;
use crate::table::PEERS;

/// Finds the peer with this name, in the table or among the [loaded](crate::loaded) ones.
pub fn find(name: &str) -> Option<&'static Peer> {
    let is = |peer: &&Peer| peer.name == name;
    PEERS.iter().find(is).or_else(|| loaded().into_iter().find(|peer| peer.name == name))
}
