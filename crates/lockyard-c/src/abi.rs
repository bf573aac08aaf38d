//! Sizes and alignments of the types that programs embed. `tests/c/abi.c` has the same numbers. A
//! change of any of these requires a new number in `liblockyard.so.N`.

use crate::bufs::ly_buf_t;
use crate::cond::ly_cond_t;
use crate::conns::{ly_conn_t, ly_endpoint_t, ly_tuple_t};
use crate::ids::ly_ids_entry_t;
use crate::lockref::ly_lockref_t;
use crate::mutex::ly_mutex_t;
use crate::pageref::ly_pageref_t;
use crate::pvqspin::ly_pvqspin_t;
use crate::pvticket::ly_pvticket_t;
use crate::qspin::ly_qspin_t;
use crate::reclaim::{ly_reclaim_guard_t, ly_reclaim_head_t};
use crate::stats::ly_counts_t;
use crate::tas::ly_tas_t;
use crate::ticket::ly_ticket_t;
use core::mem::offset_of;

const fn is<T>(size: usize, alignment: usize) {
    assert!(size_of::<T>() == size && align_of::<T>() == alignment);
}

const _: () = {
    is::<ly_mutex_t>(4, 4);
    is::<ly_cond_t>(24, 8);
    is::<ly_qspin_t>(4, 4);
    is::<ly_ticket_t>(4, 4);
    is::<ly_tas_t>(4, 4);
    is::<ly_pvqspin_t>(8, 4);
    is::<ly_pvticket_t>(4, 4);
    is::<ly_lockref_t>(8, 8);
    is::<ly_pageref_t>(4, 4);
    is::<ly_reclaim_guard_t>(48, 8);
    is::<ly_reclaim_head_t>(32, 8);
    is::<ly_counts_t>(32, 8);
    is::<ly_ids_entry_t>(80, 8);
    is::<ly_endpoint_t>(20, 2);
    is::<ly_tuple_t>(44, 2);
    is::<ly_conn_t>(24, 8);
    is::<ly_buf_t>(24, 8);
    assert!(offset_of!(ly_counts_t, flags) == 24);
    assert!(offset_of!(ly_tuple_t, destination) == 20 && offset_of!(ly_tuple_t, protocol) == 40);
    assert!(offset_of!(ly_endpoint_t, port) == 16 && offset_of!(ly_endpoint_t, family) == 18);
    assert!(offset_of!(ly_reclaim_head_t, free_) == 24 && offset_of!(ly_pvqspin_t, token_) == 4);
};
