//! Safe code that treats a table as one with other parameters: one word, two meanings.
//!
//! `for<'a> fn(&'a ())` is a subtype of `fn(&'static ())`. A type that is covariant in a parameter
//! could therefore be used with a parameter that implements the same trait differently. Each
//! function below is one type that must refuse this conversion.
#![forbid(unsafe_code)]
#![allow(coherence_leak_check)]

use lockyard::lock::pv::Hooks;
use lockyard::lock::{PvQueued, Queued};
use lockyard::{Context, Native};
use lockyard_tables::{buffers, connections, handle_table, id_table, statistics};
use std::marker::PhantomData;

struct W<T>(PhantomData<T>);
type General = for<'a> fn(&'a ());
type Narrow = fn(&'static ());

impl<T> std::fmt::Debug for W<T> {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Ok(())
    }
}

impl Hooks for W<General> {
    const PARK: bool = true;
}
impl Hooks for W<Narrow> {
    const PARK: bool = false;
}

macro_rules! context {
    ($($which:ty),*) => {$(
        impl Context for W<$which> {
            type State = ();
            fn enter() {}
            fn leave(_: ()) {}
        }
    )*};
}
context!(General, Narrow);

macro_rules! passes_for_another {
    ($($name:ident: $type:ident<$p:ident> = $for:ty;)*) => {$(
        type $type<$p> = $for;
        fn $name(this: &$type<General>) -> &$type<Narrow> {
            this
        }
    )*};
}

passes_for_another! {
    ids: Ids<P> = id_table::IdTable<u32, id_table::Rcu, Native, W<P>>;
    ids_value: IdsValue<P> = id_table::IdTable<W<P>, id_table::Rcu, Native>;
    entry: Entry<P> = id_table::Entry<'static, W<P>, id_table::Rcu, Native>;
    handles: Handles<P> = handle_table::HandleTable<u32, handle_table::Shared, Native, W<P>>;
    handles_value: HandlesValue<P> =
        handle_table::HandleTable<W<P>, handle_table::Shared, Native>;
    handles_lock: HandlesLock<P> =
        handle_table::HandleTable<u32, handle_table::Exclusive<PvQueued<W<P>>>, Native>;
    reference: Reference<P> = handle_table::Ref<'static, W<P>, Native>;
    handle_entry: HandleEntry<P> = handle_table::Entry<'static, W<P>, Queued, Native>;
    vacant: Vacant<P> =
        handle_table::VacantEntry<'static, W<P>, handle_table::Shared, Native>;
    counts_lock: CountsLock<P> =
        statistics::Statistics<statistics::PerNode, PvQueued<W<P>>, Native>;
    counts_context: CountsContext<P> =
        statistics::Statistics<statistics::Shared, Queued, Native, W<P>>;
    keyed_key: KeyedKey<P> = lockyard_tables::Connections<W<P>, u32>;
    keyed_value: KeyedValue<P> = lockyard_tables::Connections<u32, W<P>>;
    keyed_hasher: KeyedHasher<P> = lockyard_tables::Connections<u32, u32, W<P>>;
    held: Held<P> = lockyard_tables::Held<'static, u32, W<P>>;
    reader: Reader<P> = connections::Reader<'static, u32, W<P>, connections::Seed, Queued, Native>;
    in_place: InPlace<P> = connections::InPlace<PvQueued<W<P>>>;
    not_inserted: NotInserted<P> =
        connections::NotInserted<'static, u32, W<P>, connections::Seed, connections::Rcu>;
    keyed_buffers: KeyedBuffers<P> =
        buffers::BufferCache<u32, W<P>, connections::Seed, buffers::Standard, Native>;
    keyed_buffer: KeyedBuffer<P> =
        buffers::Buffer<'static, u32, W<P>, connections::Seed, buffers::Standard, Native>;
    connections_value: ConnectionsValue<P> =
        connections::ConnectionTable<W<P>, connections::Rcu, Native>;
    connections_lock: ConnectionsLock<P> =
        connections::ConnectionTable<u32, connections::Rcu<PvQueued<W<P>>>, Native>;
    connection: Connection<P> = connections::Connection<'static, W<P>, connections::Rcu, Native>;
    buffers_value: BuffersValue<P> = buffers::BlockCache<W<P>, buffers::Standard, Native>;
    buffers_lock: BuffersLock<P> = buffers::BlockCache<
        u32,
        buffers::With<
            buffers::OnMiss,
            buffers::Outside,
            buffers::ReferencedBit,
            buffers::Hash256<PvQueued<W<P>>>,
        >,
        Native,
    >;
    buffer: Block<P> = buffers::Block<'static, W<P>, buffers::Standard, Native>;
}

fn main() {}
