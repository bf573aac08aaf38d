//! Results as pages and pictures: one HTML file with charts, or one SVG file.
//!
//! A page needs no network and no scripts. Its charts are SVG, made here. The page embeds the
//! results as a JSON document. Each number in a chart has a JSON pointer to its place there, in the
//! attribute `data-at`. For a number in a table, the pointer is `data-at` of its line followed by
//! `data-of` of its cell.
//!
//! | module | content |
//! | --- | --- |
//! | [`page`] | pages of results, of comparisons, of profiles and of sweeps |
//! | [`picture`] | curves alone, as a file |
//! | `charts` | one file for each kind of chart |
//! | `svg` | writer of SVG: axes, marks, legends, bars, colours |
//! | `group`, `points`, `fact`, `text` | rows that share a chart, cells of a sweep, places of numbers, escaped text |

mod charts;
mod fact;
mod group;
pub mod page;
pub mod picture;
mod points;
mod svg;
mod text;
