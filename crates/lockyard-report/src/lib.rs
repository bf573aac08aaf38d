//! Results as pages and pictures: one HTML file with charts, or one SVG file.
//!
//! A page needs no network and no scripts. Its charts are SVG, made here. Each number in a table or
//! chart names its place in the JSON document that the page embeds, as a JSON pointer in `data-at`
//! (of a table's cell: that of its line, and `data-of`).
//!
//! | module | content |
//! | --- | --- |
//! | [`page`] | pages of results and of comparisons |
//! | [`picture`] | curves alone, as a file |
//! | `charts` | one file for each kind of chart |
//! | `svg` | writer of SVG: axes, marks, legends, bars, colours |
//! | `group`, `fact`, `text` | rows that share a chart, places of numbers, escaped text |

mod charts;
mod fact;
mod group;
pub mod page;
pub mod picture;
mod svg;
mod text;
