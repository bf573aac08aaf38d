//! The key of a connection: protocol, two addresses, two ports. Both directions have one key.
//!
//! The two endpoints of a packet are sorted before they are hashed and compared. A packet and its
//! reply therefore have the same key, and a connection is in only one chain. One bit next to the
//! key records which endpoint was the source. From this bit a look-up knows the direction of its
//! packet.

use core::net::IpAddr;

/// An address and a port.
pub type Endpoint = (IpAddr, u16);

/// Protocol, addresses and ports of a packet. Protocols without ports use 0, or another value that
/// distinguishes their flows.
///
/// ```
/// use lockyard_tables::connections::Tuple;
/// use std::net::Ipv4Addr;
///
/// let client = (Ipv4Addr::new(10, 0, 0, 1).into(), 40_000);
/// let server = (Ipv4Addr::new(192, 0, 2, 7).into(), 443);
/// let request = Tuple { protocol: 6, source: client, destination: server };
/// assert_eq!(request.reversed(), Tuple { protocol: 6, source: server, destination: client });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tuple {
    /// The IP protocol number.
    pub protocol: u8,
    /// The source of the packet. An IPv4 address differs from the IPv6 address to which it can be
    /// mapped.
    pub source: Endpoint,
    /// The destination of the packet.
    pub destination: Endpoint,
}

impl Tuple {
    /// Returns the tuple of a packet in the other direction.
    #[must_use]
    pub const fn reversed(&self) -> Tuple {
        Tuple { protocol: self.protocol, source: self.destination, destination: self.source }
    }
}

/// The direction of a packet in its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// The direction of the packet with which the connection was inserted. (A connection with two
    /// equal endpoints has only this direction.)
    Original,
    /// The other direction.
    Reply,
}

/// 40 bytes: ports and protocol, in which connections differ most often, then the two addresses,
/// the lower endpoint's first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key([u64; 5]);

/// The bit of a key's first word that is set if the lower endpoint's address is IPv6. The next bit
/// is for the upper endpoint.
const LOWER_IS_V6: u64 = 1 << 40;
const UPPER_IS_V6: u64 = 1 << 41;

impl Key {
    /// Returns the key of a tuple, and true if its source is the lower endpoint.
    #[inline]
    pub(super) fn of(tuple: &Tuple) -> (Key, bool) {
        let in_order = tuple.source <= tuple.destination;
        let (lower, upper) = if in_order {
            (&tuple.source, &tuple.destination)
        } else {
            (&tuple.destination, &tuple.source)
        };
        let first = u64::from(lower.1)
            | u64::from(upper.1) << 16
            | u64::from(tuple.protocol) << 32
            | if lower.0.is_ipv6() { LOWER_IS_V6 } else { 0 }
            | if upper.0.is_ipv6() { UPPER_IS_V6 } else { 0 };
        let (a, b) = (words(lower.0), words(upper.0));
        (Key([first, a[0], a[1], b[0], b[1]]), in_order)
    }

    /// Returns the tuple of this key. Its source is the lower endpoint if `in_order`, and the upper
    /// one otherwise.
    pub(super) fn tuple(&self, in_order: bool) -> Tuple {
        let [first, a0, a1, b0, b1] = self.0;
        let lower = (address([a0, a1], first & LOWER_IS_V6 != 0), first as u16);
        let upper = (address([b0, b1], first & UPPER_IS_V6 != 0), (first >> 16) as u16);
        let tuple = Tuple { protocol: (first >> 32) as u8, source: lower, destination: upper };
        if in_order { tuple } else { tuple.reversed() }
    }

    pub(super) fn words(&self) -> &[u64; 5] {
        &self.0
    }
}

/// The bit of a stored key that is set if the connection was inserted with the lower endpoint as
/// its source.
const ORIGINAL_IN_ORDER: u64 = 1 << 63;

/// A key as stored in an entry, with the direction in which the connection was inserted.
#[derive(Clone, Copy)]
pub struct StoredKey(Key);

impl StoredKey {
    pub(super) fn new(key: Key, in_order: bool) -> Self {
        let mut stored = key;
        stored.0[0] |= if in_order { ORIGINAL_IN_ORDER } else { 0 };
        StoredKey(stored)
    }

    #[inline(always)]
    pub(super) fn is(&self, key: &Key) -> bool {
        // The first word is compared first, as it is next to the link.
        self.0.0[0] & !ORIGINAL_IN_ORDER == key.0[0] && self.0.0[1..] == key.0[1..]
    }

    pub(super) fn key(&self) -> Key {
        let mut key = self.0;
        key.0[0] &= !ORIGINAL_IN_ORDER;
        key
    }

    pub(super) fn original_in_order(&self) -> bool {
        self.0.0[0] & ORIGINAL_IN_ORDER != 0
    }
}

fn words(address: IpAddr) -> [u64; 2] {
    match address {
        IpAddr::V4(v4) => [u64::from(v4.to_bits()), 0],
        IpAddr::V6(v6) => [v6.to_bits() as u64, (v6.to_bits() >> 64) as u64],
    }
}

fn address(words: [u64; 2], v6: bool) -> IpAddr {
    if v6 {
        IpAddr::V6((u128::from(words[1]) << 64 | u128::from(words[0])).into())
    } else {
        IpAddr::V4((words[0] as u32).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::{Ipv4Addr, Ipv6Addr};

    fn some() -> [Tuple; 6] {
        let v4 = |last, port| (IpAddr::V4(Ipv4Addr::new(10, 1, 2, last)), port);
        let v6 = |last, port| (IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 1, 2, 3, 4, 5, last)), port);
        let mapped = (IpAddr::V6(Ipv4Addr::new(10, 1, 2, 3).to_ipv6_mapped()), 80);
        let tuple = |protocol, source, destination| Tuple { protocol, source, destination };
        [
            tuple(6, v4(3, 80), v4(9, 65_535)),
            tuple(17, v4(3, 80), v4(9, 65_535)),
            tuple(6, v4(3, 81), v4(3, 80)),
            tuple(6, v6(1, 80), v6(0xffff, 0)),
            tuple(255, v4(3, 80), v6(1, 80)),
            tuple(6, mapped, v4(9, 65_535)),
        ]
    }

    #[test]
    fn a_packet_and_its_reply_have_one_key_and_other_connections_have_another() {
        for (i, a) in some().iter().enumerate() {
            let (key, in_order) = Key::of(a);
            assert_eq!(Key::of(&a.reversed()), (key, !in_order), "{a:?}");
            assert_eq!(key.tuple(in_order), *a, "the key says all of it");
            let stored = StoredKey::new(key, in_order);
            assert!(stored.is(&key) && stored.key() == key);
            assert_eq!(stored.original_in_order(), in_order);
            for b in &some()[i + 1..] {
                assert_ne!(Key::of(b).0, key, "{a:?} {b:?}");
                assert!(!stored.is(&Key::of(b).0), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn a_connection_of_an_endpoint_with_itself_has_one_direction() {
        let end = (IpAddr::V4(Ipv4Addr::LOCALHOST), 7);
        let tuple = Tuple { protocol: 6, source: end, destination: end };
        let (key, in_order) = Key::of(&tuple);
        assert!(in_order && Key::of(&tuple.reversed()).1);
        assert_eq!(key.tuple(true), tuple);
    }
}
