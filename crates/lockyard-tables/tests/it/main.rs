//! Tests of the tables on real threads, in one binary.

#![cfg(feature = "std")]

#[macro_use]
mod support;

mod auto_traits;
mod between_operations;
mod buffers;
mod connections;
mod corpus;
mod first_line;
mod handle_table;
mod id_table;
mod keys;
mod linearizable;
mod models;
mod outside;
mod statistics;
mod steady;
