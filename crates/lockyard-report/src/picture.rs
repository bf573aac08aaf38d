//! Only the curves, as a file with its own background, for light and dark schemes.

use crate::charts::curves;
use crate::group::Group;
use crate::svg::{WIDTH, number, style};
use crate::text::escape;
use lockyard_results::row::Row;

/// Beginning of every picture, by which a picture is recognised.
const BEGIN: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" role=\"img\"";

/// Returns true if a file is a picture of this crate, so that another one may replace it.
pub fn is_picture(text: &str) -> bool {
    text.starts_with(BEGIN)
}

/// Returns the curves of all experiments, one below another; `None` if no experiment has figures at
/// two numbers of threads.
pub fn curves(rows: &[Row]) -> Option<String> {
    let groups = Group::all(rows);
    let charts: Vec<_> = groups.iter().filter_map(curves::chart).collect();
    if charts.is_empty() {
        return None;
    }
    let titles: Vec<&str> = charts.iter().map(|chart| chart.title()).collect();
    let descriptions: Vec<&str> = charts
        .iter()
        .map(|chart| chart.description().trim_end_matches(curves::SEE_TABLE))
        .collect();
    let mut body = String::new();
    let mut down = 0.0;
    for chart in &charts {
        body.push_str(&chart.moved(down));
        down += chart.height;
    }
    let height = number(down);
    Some(format!(
        "{BEGIN} viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         aria-labelledby=\"t d\">\n<title id=\"t\">{}</title>\n<desc id=\"d\">{}</desc>\n\
         <style>{}</style>\n<rect class=\"bg\" width=\"{WIDTH}\" height=\"{height}\" rx=\"6\"/>\n\
         {body}</svg>\n",
        escape(&titles.join("; ")),
        escape(&descriptions.join(" ")),
        style::css()
    ))
}
