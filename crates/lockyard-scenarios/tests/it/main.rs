//! Scripts, in one binary: how they are read, refused and performed.

mod buffers;
mod foreign;
mod guests;
mod parts;
mod performed;
mod profile;
mod samples;
mod scripts;
mod starts;
mod support;
mod tables;
