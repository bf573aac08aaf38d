//! Frame of a page, and parts that all pages share.
//!
//! A page loads nothing: its content security policy forbids every load. Its only `script` element
//! is the embedded document, which is data.

use crate::svg::{Chart, style};
use crate::text::escape;
use serde_json::Value;

const STYLE: &str = include_str!("style.css");

/// Beginning of the line that identifies a page.
const MARK: &str = "<!-- a report of lockyard";

/// Returns true if a file is a page of this crate, so that another page may replace it.
pub fn is_page(text: &str) -> bool {
    text.lines().take(2).any(|line| line.starts_with(MARK))
}

/// Returns true if a file is a page of this crate with partial results.
pub fn is_partial(text: &str) -> bool {
    text.lines().take(2).any(|line| line.starts_with(MARK) && line.contains("partial"))
}

/// Parts of a page.
pub(super) struct Frame<'a> {
    /// Title.
    pub(super) title: &'a str,
    /// Description of the page, in one line.
    pub(super) by: String,
    /// Reason why results are missing.
    pub(super) partial: Option<String>,
    /// Content, from the second-level headings on.
    pub(super) content: String,
    /// Document to embed.
    pub(super) data: &'a Value,
    /// Version of the command.
    pub(super) version: Option<&'a str>,
}

/// Returns the page.
pub(super) fn framed(frame: &Frame) -> String {
    let title = escape(frame.title);
    let partial = match &frame.partial {
        Some(why) => format!("<p class=\"partial\" role=\"status\">{}</p>\n", escape(why)),
        None => String::new(),
    };
    let mark = if frame.partial.is_some() { ": partial" } else { "" };
    let by = escape(&frame.by);
    let version = frame.version.map(|version| format!(" {}", escape(version))).unwrap_or_default();
    format!(
        "<!DOCTYPE html>\n{MARK}{mark} -->\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; img-src data:\">\n\
         <link rel=\"icon\" href=\"data:,\">\n\
         <title>{title}</title>\n<style>\n{STYLE}{}\n</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#content\">Skip to the content</a>\n<header>\n<h1>{title}</h1>\n\
         <p class=\"by\">{by}</p>\n{partial}</header>\n<main id=\"content\">\n{}</main>\n\
         <footer><p>Made by lockyard{version}. Every figure of a table or chart is in the JSON \
         document that this page embeds (<code>lockyard-results</code>).</p></footer>\n\
         <script type=\"application/json\" id=\"lockyard-results\">\n{}\n</script>\n</body>\n\
         </html>\n",
        style::css(),
        frame.content,
        embedded(frame.data)
    )
}

/// Returns a document as text for an element of a page. The text cannot end the element.
fn embedded(data: &Value) -> String {
    lockyard_support::escaped_json(&data.to_string()).replace('<', "\\u003c")
}

/// Returns charts side by side where there is room. Wide charts scroll horizontally, also by
/// keyboard.
pub(super) fn charts(charts: &[Chart], first_id: &mut usize) -> String {
    if charts.is_empty() {
        return String::new();
    }
    let mut text = String::from("<div class=\"charts\">\n");
    for chart in charts {
        *first_id += 1;
        text.push_str(&format!(
            "<figure class=\"pan\" tabindex=\"0\" aria-label=\"{}\">\n{}</figure>\n",
            escape(chart.title()),
            chart.in_page(&format!("chart-{first_id}"))
        ));
    }
    text.push_str("</div>\n");
    text
}

/// Returns a list of sentences.
pub(super) fn sentences(lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let lines: Vec<String> =
        lines.iter().map(|line| format!("<li>{}</li>\n", escape(line))).collect();
    format!("<ul class=\"lines\">\n{}</ul>\n", lines.concat())
}

/// Returns names with their values.
pub(super) fn pairs<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let pairs: Vec<String> = pairs
        .map(|(name, value)| format!("<dt>{}</dt><dd>{}</dd>\n", escape(name), escape(value)))
        .collect();
    format!("<dl>\n{}</dl>\n", pairs.concat())
}

/// Returns links to the sections with these identifiers and titles.
pub(super) fn contents(sections: &[(String, String)]) -> String {
    let links: Vec<String> = sections
        .iter()
        .map(|(id, title)| format!("<li><a href=\"#{id}\">{}</a></li>\n", escape(title)))
        .collect();
    format!("<nav aria-label=\"Contents\"><ul>\n{}</ul></nav>\n", links.concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nothing_in_the_document_ends_its_element() {
        let data = json!({ "</script>": "<!-- <script>" });
        let text = embedded(&data);
        assert!(!text.contains('<'), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), data);
    }
}
