//! A program that compiles: with it, `trybuild` builds the others, instead of checking them.

fn main() {
    let lock = lockyard::QSpinLock::new(1);
    let table: lockyard_tables::IdTable<u64> = lockyard_tables::IdTable::new();
    assert!(*lock.lock() == 1 && table.is_empty());
}
