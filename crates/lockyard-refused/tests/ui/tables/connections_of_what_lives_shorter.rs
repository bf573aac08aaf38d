//! A table of long-lived values, filled with a short-lived one: a look-up would find a dangling
//! value.

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
