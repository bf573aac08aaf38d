//! The connection table: see `lockyard_tables::connections`.

use crate::in_c::{at, check_pointer, fill, handle, in_c, inside, misuse, off_heap, on_heap, take};
use crate::value::{Value, ly_drop_fn};
use core::ffi::{c_int, c_void};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::ptr::null_mut;
use lockyard_tables::connections::{Bits, Direction, Tuple, Why};
use lockyard_tables::{Connection, ConnectionTable};

/// Table of connections that expire, found by protocol, addresses and ports in either direction. A
/// look-up takes no lock.
#[derive(Debug)]
pub struct ly_conns_t {
    table: ConnectionTable<Value>,
    drop: ly_drop_fn,
}

in_c!(ly_conns_t, ly_conns_t);

/// A reference to a connection, which keeps it alive even after it has left the table. Filled by
/// `ly_conns_find`, `ly_conns_insert` or `ly_conn_clone`, emptied by `ly_conn_release`.
#[derive(Debug)]
#[repr(C)]
pub struct ly_conn_t {
    /// Only for the functions of this type.
    pub words_: [u64; 3],
}

handle!(ly_conn_t, Connection<'static, Value>);

/// The family of an endpoint with an IPv4 address.
pub const LY_IPV4: u8 = 4;
/// The family of an endpoint with an IPv6 address.
pub const LY_IPV6: u8 = 6;

/// An address and a port.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ly_endpoint_t {
    /// The address in network byte order; an IPv4 address is in the first four bytes.
    pub address: [u8; 16],
    /// The port in the host's byte order, or another number that tells flows apart.
    pub port: u16,
    /// `LY_IPV4` or `LY_IPV6`.
    pub family: u8,
    /// Unused.
    pub unused_: u8,
}

/// Protocol, addresses and ports of a packet.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ly_tuple_t {
    /// The source of the packet.
    pub source: ly_endpoint_t,
    /// The destination of the packet.
    pub destination: ly_endpoint_t,
    /// The number of the IP protocol.
    pub protocol: u8,
    /// Unused.
    pub unused_: [u8; 3],
}

fn endpoint(from: &ly_endpoint_t, function: &str) -> (IpAddr, u16) {
    let [a, b, c, d, ..] = from.address;
    let address = match from.family {
        LY_IPV4 => IpAddr::V4(Ipv4Addr::new(a, b, c, d)),
        LY_IPV6 => IpAddr::V6(Ipv6Addr::from(from.address)),
        _ => misuse(function, "the family of an endpoint is not LY_IPV4 or LY_IPV6"),
    };
    (address, from.port)
}

/// Reads a tuple.
///
/// # Safety
///
/// The pointer must point to a tuple.
unsafe fn tuple(pointer: *const ly_tuple_t, function: &str) -> Tuple {
    check_pointer(pointer, function);
    // SAFETY: the caller's promise.
    let from = unsafe { &*pointer };
    Tuple {
        protocol: from.protocol,
        source: endpoint(&from.source, function),
        destination: endpoint(&from.destination, function),
    }
}

/// Makes an empty table with 2^`bits` buckets, `bits` from 1 to 27; 0 means 12. One bucket for a
/// connection is enough. `drop` is called with the pointer of each connection whose last reference
/// is gone after it has left the table; it may be NULL. Returns NULL if `bits` is out of range, or
/// if there is no memory. Cost: one allocation; the first insertion allocates the buckets.
///
/// # Safety
///
/// `drop` must be safe to call with each inserted pointer.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_conns_create(bits: u32, drop: ly_drop_fn) -> *mut ly_conns_t {
    let bits = if bits == 0 { Ok(Bits::DEFAULT) } else { Bits::new(bits) };
    let new = |bits| on_heap(ly_conns_t { table: ConnectionTable::new(bits), drop });
    bits.map_or(null_mut(), new)
}

/// Frees a table with its connections. Does nothing with NULL.
///
/// # Safety
///
/// `conns` must come from `ly_conns_create`. No thread may use it or a reference to a connection
/// any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_conns_destroy(conns: *mut ly_conns_t) {
    // SAFETY: the caller's promise.
    unsafe { off_heap(conns) };
}

/// Inserts a connection, found by `tuple` and by its reverse, that expires at `deadline`, in the
/// caller's unit; UINT64_MAX means never. Returns 0, EEXIST if there is one, or ENOMEM. With 0 and
/// EEXIST, `conn` gets a reference to the connection that is there. Unless it returns 0, `value`
/// stays the caller's. Cost: one allocation, a bucket's lock, and a walk along its chain. Aborts if
/// a family is neither `LY_IPV4` nor `LY_IPV6`.
///
/// # Safety
///
/// `conns` must come from `ly_conns_create`. `conn` must point to memory for a reference that is
/// not in use.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_conns_insert(
    conns: *mut ly_conns_t,
    tuple: *const ly_tuple_t,
    value: *mut c_void,
    deadline: u64,
    conn: *mut ly_conn_t,
) -> c_int {
    const NAME: &str = "ly_conns_insert";
    check_pointer(conn, NAME);
    // SAFETY: the caller's promise.
    let (conns, tuple): (&'static ly_conns_t, _) =
        unsafe { (at(conns, NAME), self::tuple(tuple, NAME)) };
    let (there, number) = match conns.table.insert(&tuple, Value::new(value, conns.drop), deadline)
    {
        Ok(new) => (Some(new), 0),
        Err(refused) => {
            let _callers = refused.value.into_pointer();
            match refused.why {
                Why::Exists(there) => (Some(there), libc::EEXIST),
                _ => (None, libc::ENOMEM),
            }
        }
    };
    if let Some(there) = there {
        // SAFETY: the caller's promise.
        unsafe { fill(conn, there, NAME) };
    }
    number
}

/// Finds the connection of a packet. Returns true if there is one: `conn` gets a reference to it,
/// and `is_reply`, if not NULL, says whether the packet goes in the other direction than the
/// inserted tuple. Cost: a hash, one or two lines for each entry of the chain up to it, and a
/// locked operation. Aborts as `ly_conns_insert`.
///
/// # Safety
///
/// The same as for `ly_conns_insert`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_conns_find(
    conns: *mut ly_conns_t,
    tuple: *const ly_tuple_t,
    conn: *mut ly_conn_t,
    is_reply: *mut bool,
) -> bool {
    const NAME: &str = "ly_conns_find";
    check_pointer(conn, NAME);
    // SAFETY: the caller's promise.
    let (conns, tuple): (&'static ly_conns_t, _) =
        unsafe { (at(conns, NAME), self::tuple(tuple, NAME)) };
    let Some((found, direction)) = conns.table.look_up(&tuple) else { return false };
    // SAFETY: the caller's promise.
    unsafe { fill(conn, found, NAME) };
    if !is_reply.is_null() {
        // SAFETY: the caller's promise.
        unsafe { is_reply.write(direction == Direction::Reply) };
    }
    true
}

/// Removes the connection of a packet from the table. Returns true if it did. References to it stay
/// valid. Cost: a look-up, and a bucket's lock. Aborts as `ly_conns_insert`.
///
/// # Safety
///
/// The same as for `ly_conns_insert`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_conns_remove(conns: *mut ly_conns_t, tuple: *const ly_tuple_t) -> bool {
    const NAME: &str = "ly_conns_remove";
    // SAFETY: the caller's promise.
    let (conns, tuple): (&ly_conns_t, _) = unsafe { (at(conns, NAME), self::tuple(tuple, NAME)) };
    conns.table.remove(&tuple).is_some()
}

/// Removes connections whose deadline is `now` or before from the next `buckets` buckets; SIZE_MAX
/// means all. Returns their number. Each call begins where the last one of any thread ended. Cost:
/// the lock of each bucket that is not empty, and a walk along its chain.
///
/// # Safety
///
/// `conns` must come from `ly_conns_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_conns_expire(
    conns: *mut ly_conns_t,
    now: u64,
    buckets: usize,
) -> usize {
    // SAFETY: the caller's promise.
    let conns: &ly_conns_t = unsafe { at(conns, "ly_conns_expire") };
    conns.table.expire(now, buckets, |gone| drop(gone))
}

/// Returns the number of connections. Exact while no thread inserts or removes. Cost: reads every
/// bucket.
///
/// # Safety
///
/// `conns` must come from `ly_conns_create`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_conns_count(conns: *const ly_conns_t) -> usize {
    // SAFETY: the caller's promise.
    let conns: &ly_conns_t = unsafe { at(conns, "ly_conns_count") };
    conns.table.len()
}

/// Returns the pointer of a connection. Cost: one load. A debug build aborts if `conn` is empty.
///
/// # Safety
///
/// `conn` must be filled, and must not be emptied meanwhile. It may be used by several threads.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_conn_value(conn: *const ly_conn_t) -> *mut c_void {
    // SAFETY: the caller's promise.
    unsafe { inside(conn, "ly_conn_value") }.pointer()
}

/// Moves the deadline of a connection to `until`, unless it is later already. Returns true if the
/// connection is in the table. Cost: one load, and one locked operation if the deadline moves.
///
/// # Safety
///
/// The same as for `ly_conn_value`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_conn_renew(conn: *const ly_conn_t, until: u64) -> bool {
    // SAFETY: the caller's promise.
    unsafe { inside(conn, "ly_conn_renew") }.renew(until)
}

/// Makes another reference to a connection. Cost: one locked addition. Never fails.
///
/// # Safety
///
/// The same as for `ly_conn_value`. `copy` must point to memory for a reference that is not in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_conn_clone(conn: *const ly_conn_t, copy: *mut ly_conn_t) {
    const NAME: &str = "ly_conn_clone";
    // SAFETY: the caller's promise.
    unsafe { fill(copy, inside(conn, NAME).clone(), NAME) };
}

/// Drops a reference to a connection. The last one of a connection that has left the table calls
/// the table's `drop` function. Cost: one locked subtraction. Never fails. A debug build aborts if
/// `conn` is empty.
///
/// # Safety
///
/// `conn` must be filled, and the table must still exist.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_conn_release(conn: *mut ly_conn_t) {
    // SAFETY: the caller's promise.
    drop(unsafe { take(conn, "ly_conn_release") });
}
