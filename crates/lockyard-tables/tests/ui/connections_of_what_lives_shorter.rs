//! A table of values that live long, given one that does not: a look-up would find a value that is
//! gone.

use lockyard_tables::ConnectionTable;
use lockyard_tables::connections::Tuple;

fn put<'a>(table: &ConnectionTable<&'a str>, tuple: &Tuple, value: &'a str) {
    assert!(table.insert(tuple, value, 0).is_ok());
}

fn check(table: &ConnectionTable<&'static str>, tuple: &Tuple) {
    let short = String::from("short");
    put(table, tuple, &short);
}

fn main() {}
