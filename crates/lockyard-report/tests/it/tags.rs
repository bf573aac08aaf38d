//! A minimal reader of HTML, sufficient for the pages that this crate writes.

use std::collections::BTreeMap;

/// An element's start tag, and the text up to the next start tag.
#[derive(Clone, Debug)]
pub(crate) struct Tag {
    pub(crate) name: String,
    pub(crate) attributes: BTreeMap<String, String>,
    pub(crate) text: String,
}

impl Tag {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.attributes.get(name).map(String::as_str)
    }
}

fn plain(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    text.replace("&#39;", "'").replace("&amp;", "&")
}

/// Returns the start tags of all elements, in order. The data in the script are left out.
pub(crate) fn tags(page: &str) -> Vec<Tag> {
    let markup = page.split("<script").next().unwrap_or_default();
    let mut tags = Vec::new();
    for part in markup.split('<').skip(1).filter(|part| !part.starts_with(['/', '!'])) {
        let (begin, text) = part.split_once('>').expect("a begin has an end");
        let begin = begin.trim_end_matches('/');
        let (name, mut rest) = begin.split_once(' ').unwrap_or((begin, ""));
        let mut attributes = BTreeMap::new();
        while let Some((key, after)) = rest.split_once("=\"") {
            let (value, after) = after.split_once('"').expect("values are in quotes");
            let key = key.split_whitespace().last().unwrap_or_default().to_owned();
            let before = attributes.insert(key.clone(), plain(value));
            assert_eq!(before, None, "{name} has {key} twice");
            rest = after;
        }
        tags.push(Tag { name: name.trim().to_owned(), attributes, text: plain(text) });
    }
    tags
}

/// Returns the document that a page embeds.
pub(crate) fn embedded(page: &str) -> serde_json::Value {
    let (_, rest) = page
        .split_once("<script type=\"application/json\" id=\"lockyard-results\">")
        .expect("a page embeds its document");
    let (text, _) = rest.split_once("</script>").expect("the element ends");
    serde_json::from_str(text).expect("it is JSON")
}

/// Returns the charts of a page.
pub(crate) fn charts(page: &str) -> Vec<String> {
    let parts = page.split("<svg ").skip(1);
    let chart = |part: &str| {
        let (chart, _) = part.split_once("</svg>").expect("a chart ends");
        format!("<svg {chart}</svg>\n")
    };
    parts.map(chart).collect()
}
