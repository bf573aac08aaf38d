//! Chains: a fixed number of chains, or chains that are divided as they become long.
//!
//! Each shard has one list. With [`Fixed`] the list is the chain. With [`Growing`] the list is
//! sorted by the hash. So all buffers whose hashes begin with the same bits are adjacent, for any
//! number of bits:
//!
//! ```text
//!   hash begins with  000     001     010     011        (the first bit is the shard's)
//!   1 chain   root --> a --> b --> c --> d --> e --> f --> g
//!   2 chains  root --> a --> b --> c --> d --> (01) --> e --> f --> g
//!                                   a sentinel where the second half begins
//! ```
//!
//! A bucket begins at its *sentinel*, a node without a buffer. Doubling the number of buckets gives
//! each bucket a second half. The half's sentinel is put into the list when the next buffer is
//! inserted into either half. An insertion also inserts the sentinels of a few other buckets of its
//! shard, in turn, so that all buckets are divided soon. Until then, a walk for the second half
//! begins where its parent begins. No buffer is ever moved. A look-up that began before a division
//! still ends correctly after it.
//!
//! This is a split-ordered list (see [`WideHash`](super::WideHash)). The original selects buckets
//! by the last bits of the hash, and sorts by the hash with its bits reversed. The first bits do
//! the same without the reversal.
//!
//! # Without a lock
//!
//! A look-up may be at a buffer that is being removed. The buffer keeps its link, so the look-up
//! continues and misses no buffer that stays in the list. Let *E* be a removed buffer, and *R* a
//! look-up that reaches it.
//!
//! - *R* entered the domain before *E* left the list. *R* followed a link to *E*, of one of two
//!   kinds. The first kind was in the list at that moment, as a sentinel's link always is. It
//!   cannot lead to *E* after *E* has left. The second kind is the link of another removed buffer,
//!   which leads to *E* because that buffer left before *E* did. *R* entered before that buffer
//!   left, by the same argument, back to a sentinel.
//! - *E* is retired after it has left, so the grace period that begins then waits for *R*. Nothing
//!   that *R* reads is freed.
//! - *R* gets *E* only if it can take a reference, and none can be taken once *E* is dead.
//!
//! Sentinels are never removed, and their memory is freed with the cache.

use super::entry::{Entry, Links};
use super::shard::{DOUBLINGS, Shard, Shards};
use super::wanted::Wanted;
use crate::memory::{from_host, from_word, to_host, to_word};
use core::alloc::Layout;
use core::hint::select_unpredictable;
use core::ptr::NonNull;
use lockyard::Context;
use lockyard::lock::LaneLock;
use lockyard::platform::{Host, Ordering, Word};

/// Average number of buffers per bucket above which the number of buckets is doubled. With half a
/// buffer to one buffer for each bucket, a fifth to a third of all hits pass one other buffer, and
/// few pass two.
pub(super) const LOAD: u64 = 1;

/// Number of buckets that an insertion divides beside its own, until all are divided. A doubling
/// adds a bucket for each buffer, and the next doubling comes after as many insertions. So the last
/// bucket is divided after a quarter of that time.
const OTHERS: u64 = 4;

/// Order of a list, and the start of a walk along it.
pub(super) trait Order {
    /// True if buffers of different hashes have different places.
    const SORTED: bool;

    /// Returns the place of a buffer, which is odd. Buffers with equal places are adjacent.
    fn place(hash: u64) -> u64;

    /// Returns the last node that precedes all buffers of this hash and can be found without a
    /// walk.
    ///
    /// # Safety
    ///
    /// `shard` must be the shard of `hash`.
    unsafe fn before<'s, K: LaneLock<H>, H: Host, C: Context>(
        shards: &'s Shards<K, H, C>,
        shard: &'s Shard<K, H, C>,
        hash: u64,
    ) -> &'s Links<H>;

    /// Divides the bucket into which a buffer of this hash is about to be inserted.
    ///
    /// # Safety
    ///
    /// The same as for [`before`](Self::before), and the caller must hold the shard's lock.
    unsafe fn divide<K: LaneLock<H>, H: Host, C: Context>(
        shards: &Shards<K, H, C>,
        shard: &Shard<K, H, C>,
        hash: u64,
    );
}

/// One chain per shard: all places are equal, and a new buffer is put before the others.
pub(super) struct Fixed;

impl Order for Fixed {
    const SORTED: bool = false;

    #[inline(always)]
    fn place(_: u64) -> u64 {
        1
    }
    #[inline(always)]
    unsafe fn before<'s, K: LaneLock<H>, H: Host, C: Context>(
        _: &'s Shards<K, H, C>,
        shard: &'s Shard<K, H, C>,
        _: u64,
    ) -> &'s Links<H> {
        &shard.root
    }
    unsafe fn divide<K: LaneLock<H>, H: Host, C: Context>(
        _: &Shards<K, H, C>,
        _: &Shard<K, H, C>,
        _: u64,
    ) {
    }
}

/// 2^`BITS` shards, and 2^(`BITS` + *d*) buckets after *d* doublings.
pub(super) struct Growing<const BITS: u32>;

impl<const BITS: u32> Growing<BITS> {
    /// The bits of a hash that select buckets of a shard. The other bits select the shard.
    const IN_SHARD: u64 = u64::MAX >> BITS;

    /// Returns the place where the bucket of a hash begins.
    #[inline(always)]
    fn bucket(hash: u64, doublings: u64) -> u64 {
        hash & !(Self::IN_SHARD >> doublings)
    }

    /// Returns the sentinel of the bucket that begins here. `None` if its segment is not yet
    /// visible. The bucket is not the first of its shard.
    #[inline(always)]
    fn sentinel<K: LaneLock<H>, H: Host, C: Context>(
        shards: &Shards<K, H, C>,
        bucket: u64,
    ) -> Option<&Links<H>> {
        // The last bit that is set says in which doubling the bucket was added, as a second half.
        let last = bucket.trailing_zeros();
        let doubling = 63 - BITS - last;
        // Acquire: pairs with the release in `double`: the segment is initialised.
        let segment = shards.segments[doubling as usize].load(Ordering::Acquire);
        let first = NonNull::new(from_word::<Links<H>>(segment))?;
        let index = bucket >> last >> 1;
        // SAFETY: the segment of this doubling has a sentinel for each bucket that the doubling
        // added; it lives as long as the cache.
        Some(unsafe { first.add(index as usize).as_ref() })
    }

    /// Returns the bucket of a shard with this number, from 1 on, given any hash of the shard.
    /// Numbers are in the order of the doublings that add the buckets: 1, 01, 11, 001, 011, 101,
    /// 111 ... after the shard's bits.
    fn numbered(hash: u64, number: u64) -> u64 {
        let place = (number << 1 | 1) << (63 - BITS - number.ilog2());
        hash & !Self::IN_SHARD | place & Self::IN_SHARD
    }

    /// Puts the sentinel of a bucket into the list, if it is not there. Under the shard's lock.
    /// Returns false if the bucket's segment is not yet visible.
    ///
    /// # Safety
    ///
    /// The bucket must belong to the shard, and the caller must hold the lock.
    unsafe fn establish<K: LaneLock<H>, H: Host, C: Context>(
        shards: &Shards<K, H, C>,
        shard: &Shard<K, H, C>,
        bucket: u64,
    ) -> bool {
        if bucket & Self::IN_SHARD == 0 {
            return true;
        }
        let Some(sentinel) = Self::sentinel(shards, bucket) else { return false };
        // Relaxed: written under the lock.
        if sentinel.order.load(Ordering::Relaxed) != 0 {
            return true;
        }
        // The bucket's own sentinel is not in the list yet, so this is a parent's sentinel. SAFETY:
        // the caller's promise.
        let before = unsafe { Self::before(shards, shard, bucket) };
        // SAFETY: as above.
        let (link, next) = unsafe { gap(before, bucket) };
        sentinel.next.store(next, Ordering::Relaxed);
        // Release: pairs with the acquire in `before`: a walk that begins here sees the sentinel's
        // link.
        sentinel.order.store(bucket, Ordering::Release);
        // Release: pairs with the acquire in `find`, for a walk along the list.
        link.next.store(to_word(sentinel), Ordering::Release);
        true
    }
}

impl<const BITS: u32> Order for Growing<BITS> {
    const SORTED: bool = true;

    #[inline(always)]
    fn place(hash: u64) -> u64 {
        hash | 1
    }

    #[inline(always)]
    unsafe fn before<'s, K: LaneLock<H>, H: Host, C: Context>(
        shards: &'s Shards<K, H, C>,
        shard: &'s Shard<K, H, C>,
        hash: u64,
    ) -> &'s Links<H> {
        // Relaxed: with an old number of doublings the walk only begins earlier in the list. The
        // same is true of a new number whose sentinels are not yet visible.
        let mut bucket = Self::bucket(hash, shards.doublings.load(Ordering::Relaxed));
        while bucket & Self::IN_SHARD != 0 {
            if let Some(sentinel) = Self::sentinel(shards, bucket)
                // Acquire: pairs with the release in `establish`.
                && sentinel.order.load(Ordering::Acquire) != 0
            {
                return sentinel;
            }
            // Continue with the parent: this bucket is the second half of it.
            bucket &= bucket - 1;
        }
        &shard.root
    }

    unsafe fn divide<K: LaneLock<H>, H: Host, C: Context>(
        shards: &Shards<K, H, C>,
        shard: &Shard<K, H, C>,
        hash: u64,
    ) {
        let doublings = shards.doublings.load(Ordering::Relaxed);
        if doublings == 0 {
            return;
        }
        let half = 1 << (64 - u64::from(BITS) - doublings);
        let first = Self::bucket(hash, doublings) & !half;
        // SAFETY: the caller's promise. Both buckets begin with the shard's bits, so both belong to
        // the shard.
        unsafe {
            Self::establish(shards, shard, first);
            Self::establish(shards, shard, first | half);
        }
        // Relaxed, both: written under the lock.
        let divided = shard.divided.load(Ordering::Relaxed);
        let all = 1 << doublings;
        if divided == all {
            return;
        }
        let mut others = divided..all.min(divided + OTHERS);
        // SAFETY: as above.
        let unseen =
            others.find(|&n| unsafe { !Self::establish(shards, shard, Self::numbered(hash, n)) });
        shard.divided.store(unseen.unwrap_or(others.end), Ordering::Relaxed);
    }
}

/// Returns the last node before this place, starting at `link`, and the address of the node that
/// now follows it.
///
/// # Safety
///
/// The node must be in a list, and the caller must hold the lock of its shard.
unsafe fn gap<H: Host>(mut link: &Links<H>, place: u64) -> (&Links<H>, u64) {
    loop {
        // Relaxed, both: written under the lock.
        let at = link.next.load(Ordering::Relaxed);
        // SAFETY: listed nodes stay in the list while the lock is held, and begin with their links.
        match unsafe { from_word::<Links<H>>(at).as_ref() } {
            Some(node) if node.order.load(Ordering::Relaxed) < place => link = node,
            _ => return (link, at),
        }
    }
}

/// See [`Index::find`](super::index::Index::find).
///
/// # Safety
///
/// The same as for the function named above.
#[inline(always)]
pub(super) unsafe fn find<O: Order, Q: Send + Eq, T: Send, K: LaneLock<H>, H: Host, C: Context>(
    shards: &Shards<K, H, C>,
    shard: &Shard<K, H, C>,
    wanted: &Wanted<'_, Q>,
    mut accept: impl FnMut(&Entry<Q, T, K, H, C>) -> bool,
) -> Option<NonNull<Entry<Q, T, K, H, C>>> {
    let place = O::place(wanted.hash);
    // SAFETY: the caller's promise.
    let start = unsafe { O::before(shards, shard, wanted.hash) };
    // Acquire, here and below: pairs with the release of the thread that linked this node
    // (`insert`, `establish`) or removed the node before it (`remove`). The node is therefore seen
    // fully initialised.
    let mut at = start.next.load(Ordering::Acquire);
    if O::SORTED {
        // Some walks pass a node (see `LOAD`), so a branch here would often be mispredicted.
        let first = NonNull::new(from_word::<Links<H>>(at))?;
        // SAFETY: the list leads to this node; the caller promises that it is not freed.
        let first = unsafe { first.as_ref() };
        // Relaxed: written before the node was inserted into the list.
        let passes = first.order.load(Ordering::Relaxed) < place;
        at = select_unpredictable(passes, first.next.load(Ordering::Acquire), at);
    }
    loop {
        let node = NonNull::new(from_word::<Links<H>>(at))?;
        // SAFETY: as above.
        let link = unsafe { node.as_ref() };
        // Relaxed: as above.
        let order = link.order.load(Ordering::Relaxed);
        if order > place {
            return None;
        }
        if order == place {
            // An odd place marks a buffer.
            let found = node.cast::<Entry<Q, T, K, H, C>>();
            // SAFETY: as above; buffers begin with their links.
            let entry = unsafe { found.as_ref() };
            if entry.key() == wanted.key && accept(entry) {
                return Some(found);
            }
        }
        at = link.next.load(Ordering::Acquire);
    }
}

/// See [`Index::insert`](super::index::Index::insert).
///
/// # Safety
///
/// The same as for the function named above.
pub(super) unsafe fn insert<O: Order, Q: Send, T: Send, K: LaneLock<H>, H: Host, C: Context>(
    shards: &Shards<K, H, C>,
    shard: &Shard<K, H, C>,
    wanted: &Wanted<'_, Q>,
    entry: NonNull<Entry<Q, T, K, H, C>>,
) {
    let place = O::place(wanted.hash);
    // SAFETY: the caller's promise.
    unsafe {
        O::divide(shards, shard, wanted.hash);
        let (link, next) = gap(O::before(shards, shard, wanted.hash), place);
        let links = &entry.as_ref().links;
        links.next.store(next, Ordering::Relaxed);
        links.order.store(place, Ordering::Relaxed);
        // Release: pairs with the acquire in `find`.
        link.next.store(to_word(entry.as_ptr()), Ordering::Release);
    }
}

/// See [`Index::remove`](super::index::Index::remove).
///
/// # Safety
///
/// The same as for the function named above.
pub(super) unsafe fn remove<O: Order, Q: Send, T: Send, K: LaneLock<H>, H: Host, C: Context>(
    shards: &Shards<K, H, C>,
    shard: &Shard<K, H, C>,
    wanted: &Wanted<'_, Q>,
    entry: NonNull<Entry<Q, T, K, H, C>>,
) {
    let address = to_word(entry.as_ptr());
    // SAFETY: the caller's promise.
    let mut link = unsafe { O::before(shards, shard, wanted.hash) };
    loop {
        // Relaxed: written under the lock.
        let at = link.next.load(Ordering::Relaxed);
        if at == address {
            break;
        }
        // SAFETY: the buffer is in the list, so every node before it has a successor. Listed nodes
        // stay in the list while the lock is held.
        link = unsafe { &*from_word::<Links<H>>(at) };
    }
    // SAFETY: the caller's promise.
    let next = unsafe { entry.as_ref() }.links.next.load(Ordering::Relaxed);
    // Release: pairs with the acquire in `find`. Another thread may have made the next node, and a
    // look-up does not acquire from that thread here.
    link.next.store(next, Ordering::Release);
}

/// Returns the layout of the sentinels that a doubling adds, and their number.
fn segment_layout<const BITS: u32, H: Host>(doubling: usize) -> Option<(Layout, usize)> {
    let sentinels = 1usize.checked_shl(BITS + doubling as u32)?;
    Some((Layout::array::<Links<H>>(sentinels).ok()?, sentinels))
}

/// See [`Index::grow`](super::index::Index::grow): at most one doubling.
#[inline]
pub(super) fn grow<const BITS: u32, K: LaneLock<H>, H: Host, C: Context>(
    shards: &Shards<K, H, C>,
    buffers: u64,
) {
    // Relaxed: the compare-exchange below decides.
    let doublings = shards.doublings.load(Ordering::Relaxed);
    if buffers > LOAD << (u64::from(BITS) + doublings) {
        double::<BITS, K, H, C>(shards, doublings);
    }
}

#[cold]
fn double<const BITS: u32, K: LaneLock<H>, H: Host, C: Context>(
    shards: &Shards<K, H, C>,
    doublings: u64,
) {
    let Some(segment) = shards.segments.get(doublings as usize) else { return };
    if segment.load(Ordering::Relaxed) == 0 {
        let Some((layout, sentinels)) = segment_layout::<BITS, H>(doublings as usize) else {
            return;
        };
        let Some(memory) = from_host::<H>(layout, None) else { return };
        let first = memory.cast::<Links<H>>();
        for index in 0..sentinels {
            // SAFETY: inside the memory that was allocated for this number of sentinels.
            unsafe { first.add(index).write(Links::new()) };
        }
        // Release: pairs with the acquire in `sentinel`.
        let published = segment.compare_exchange(
            0,
            to_word(first.as_ptr()),
            Ordering::Release,
            Ordering::Relaxed,
        );
        if published.is_err() {
            // SAFETY: made above, and not published.
            unsafe { free_segment::<BITS, H>(first, doublings as usize) };
        }
    }
    // Relaxed: a walk that uses the new number loads the segment with acquire. On failure another
    // thread has doubled.
    let _ = shards.doublings.compare_exchange(
        doublings,
        doublings + 1,
        Ordering::Relaxed,
        Ordering::Relaxed,
    );
}

/// # Safety
///
/// The segment must belong to this doubling, and no thread may use it any more.
unsafe fn free_segment<const BITS: u32, H: Host>(first: NonNull<Links<H>>, doubling: usize) {
    if let Some((layout, sentinels)) = segment_layout::<BITS, H>(doubling) {
        for index in 0..sentinels {
            // SAFETY: initialised in `double`; not used again.
            unsafe { first.add(index).drop_in_place() };
        }
        // SAFETY: allocated with this layout, by this host.
        unsafe { to_host::<H>(first.cast(), layout) };
    }
}

/// Bytes of the segments that exist.
pub(super) fn segment_bytes<const BITS: u32, K: LaneLock<H>, H: Host, C: Context>(
    shards: &Shards<K, H, C>,
) -> usize {
    (0..DOUBLINGS)
        .filter(|&doubling| shards.segments[doubling].load(Ordering::Relaxed) != 0)
        .filter_map(|doubling| segment_layout::<BITS, H>(doubling))
        .map(|(layout, _)| layout.size())
        .sum()
}

/// Frees the segments of a cache that is being dropped.
///
/// # Safety
///
/// No thread may use the segments any more.
pub(super) unsafe fn free_segments<const BITS: u32, K: LaneLock<H>, H: Host, C: Context>(
    shards: &mut Shards<K, H, C>,
) {
    for doubling in 0..DOUBLINGS {
        let segment = shards.segments[doubling].get();
        if let Some(first) = NonNull::new(from_word::<Links<H>>(segment)) {
            // SAFETY: the caller's promise.
            unsafe { free_segment::<BITS, H>(first, doubling) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffers::{
        BlockCache, Configuration, Key, OnMiss, Outside, ReferencedBit, WideHash, With,
    };
    use lockyard::Native;

    fn buckets_of<const BITS: u32>(doublings: u32) {
        let shard = 0xabcd_ef01_2345_6789_u64 & !Growing::<BITS>::IN_SHARD;
        let mut previous = 0;
        for doubling in 1..=doublings {
            let step = 1 << (64 - BITS - doubling);
            let numbers = 1_u64 << (doubling - 1)..1 << doubling;
            for (number, half) in numbers.zip(0..) {
                let bucket = Growing::<BITS>::numbered(shard | 1, number);
                assert_eq!(bucket, shard + step + half * 2 * step, "{BITS} {doubling} {number}");
                assert!(bucket > previous || half == 0);
                previous = bucket;
            }
        }
    }

    #[test]
    fn the_numbers_of_buckets_are_the_second_halves_of_each_doubling_in_turn() {
        buckets_of::<0>(12);
        buckets_of::<1>(12);
        buckets_of::<8>(12);
        buckets_of::<16>(12);
        let last = (1 << DOUBLINGS) - 1;
        let every = u64::MAX << (64 - DOUBLINGS);
        assert_eq!(Growing::<0>::numbered(0, last), every);
        assert_eq!(Growing::<16>::numbered(0, last), every >> 16);
    }
    fn divides_all<const BITS: u32>() {
        type Wide<const BITS: u32> = With<OnMiss, Outside, ReferencedBit, WideHash<BITS>>;
        let cache = BlockCache::<(), Wide<BITS>, Native>::new(Configuration::DEFAULT);
        // The next buffer would double the chains.
        for block in 0..LOAD << (BITS + 7) {
            drop(cache.get_or_fill(Key::new(0, block), || Ok::<_, ()>(())));
        }
        let shards = cache.shards().expect("there are buffers");
        // SAFETY: the cache is alive.
        let all = unsafe { shards.as_ref() };
        assert_eq!(all.doublings.load(Ordering::Relaxed), 7);
        for shard in 0..1 << BITS {
            // SAFETY: as above, and below the number of shards.
            let divided = &unsafe { Shards::at(shards, shard) }.divided;
            assert_eq!(divided.load(Ordering::Relaxed), 1 << 7, "shard {shard}");
            for number in 1..1 << 7 {
                let hash = (shard as u64) << 1 << (63 - BITS);
                let bucket = Growing::<BITS>::numbered(hash, number);
                let sentinel = Growing::<BITS>::sentinel(all, bucket).expect("it was allocated");
                assert_eq!(sentinel.order.load(Ordering::Relaxed), bucket);
            }
        }
    }

    #[test]
    fn all_buckets_are_divided_before_the_next_doubling() {
        divides_all::<0>();
        divides_all::<1>();
        divides_all::<8>();
    }
}
