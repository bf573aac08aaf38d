//! A table of what lives long, given something that does not: who looks it up would find what is gone.

use lockyard::ConnectionTable;
use lockyard::connections::Tuple;

fn put<'a>(table: &ConnectionTable<&'a str>, tuple: &Tuple, value: &'a str) {
    assert!(table.insert(tuple, value, 0).is_ok());
}

fn check(table: &ConnectionTable<&'static str>, tuple: &Tuple) {
    let short = String::from("short");
    put(table, tuple, &short);
}

fn main() {}
