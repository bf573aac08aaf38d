//! The first lines of a user: a `let` without a type can make each name at the crate's root.

use lockyard_tables::buffers::{Configuration, Key};
use lockyard_tables::connections::{Bits, Tuple};
use lockyard_tables::{
    BlockCache, BufferCache, ConnectionTable, Connections, Counts, HandleTable, IdTable,
    LockedHandleTable, Statistics,
};

#[test]
fn a_table() {
    let ids = IdTable::new();
    let id = ids.insert("seven").unwrap();
    assert_eq!(ids.remove(id), Some("seven"));

    let handles = HandleTable::new();
    let handle = handles.insert("eight").unwrap();
    assert_eq!(handles.get(handle).as_deref(), Some(&"eight"));
    let locked = LockedHandleTable::new();
    let handle = locked.insert("nine").unwrap();
    assert_eq!(locked.remove(handle), Some("nine"));

    let sessions = Connections::new(Bits::MIN);
    assert!(sessions.insert("seven", 7).is_ok_and(|old| old.is_none()));
    assert_eq!(sessions.get("seven").as_deref(), Some(&7));

    let pages = BufferCache::new(Configuration::DEFAULT);
    assert!(pages.get_or_fill("seven", || Ok::<_, ()>(7)).is_ok_and(|page| *page == 7));

    let connections = ConnectionTable::new(Bits::MIN);
    let address = (std::net::Ipv4Addr::LOCALHOST.into(), 80);
    let tuple = Tuple { protocol: 6, source: address, destination: address };
    assert!(connections.insert(&tuple, 7, 1).is_ok());

    let buffers = BlockCache::new(Configuration::DEFAULT);
    let buffer = buffers.get_or_fill(Key::new(0, 1), || Ok::<_, ()>(7)).unwrap();
    assert_eq!(*buffer, 7);

    let statistics = Statistics::new().unwrap();
    statistics.update(&Counts::packet(64, 1, 0));
    assert_eq!(statistics.read().packets, 1);
}

/// Types that can be made without an argument implement `Default`.
#[test]
fn a_default() {
    #[derive(Default)]
    struct Everything {
        ids: IdTable<u32>,
        handles: HandleTable<u32>,
        locked: LockedHandleTable<u32>,
        connections: ConnectionTable<u32>,
        buffers: BlockCache<u32>,
    }
    let all = Everything::default();
    assert_eq!((all.ids.len(), all.connections.len(), all.buffers.len()), (0, 0, 0));
    assert_eq!((all.handles.len(), all.locked.len()), (0, 0));
}

/// Handles have names, so functions can return them.
#[test]
fn a_handle() {
    fn entry(table: &IdTable<u32>, id: u32) -> Option<lockyard_tables::IdEntry<'_, u32>> {
        table.lock(id)
    }
    fn reference(
        table: &HandleTable<u32>,
        handle: lockyard_tables::Handle,
    ) -> Option<lockyard_tables::HandleRef<'_, u32>> {
        table.get(handle)
    }
    fn locked(
        table: &LockedHandleTable<u32>,
        handle: lockyard_tables::Handle,
    ) -> Option<lockyard_tables::HandleEntry<'_, u32>> {
        table.lock(handle)
    }
    fn buffer(cache: &BlockCache<u32>) -> Option<lockyard_tables::Block<'_, u32>> {
        cache.look_up(Key::new(0, 1))
    }
    assert!(entry(&IdTable::new(), 0).is_none());
    let handle = LockedHandleTable::new().insert(1).unwrap();
    assert!(reference(&HandleTable::new(), handle).is_none());
    assert!(locked(&LockedHandleTable::new(), handle).is_none());
    assert!(buffer(&BlockCache::new(Configuration::DEFAULT)).is_none());
}
