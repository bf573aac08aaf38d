//! Colours and text of charts, for light and dark.
//!
//! Every colour has a contrast of at least 4.5 to the background, because text may use it. Series
//! also differ by their marks, so colour is never the only difference.

/// Colours of a scheme.
struct Scheme {
    background: &'static str,
    text: &'static str,
    muted: &'static str,
    grid: &'static str,
    series: [&'static str; SERIES],
}

/// Number of colours for series.
pub(crate) const SERIES: usize = 8;

const LIGHT: Scheme = Scheme {
    background: "#ffffff",
    text: "#1b1f24",
    muted: "#57606a",
    grid: "#d8dee4",
    series: [
        "#0b5cad", "#b8420a", "#0a7052", "#8a3fa8", "#80600a", "#b3246e", "#0b6e80", "#5b6168",
    ],
};

const DARK: Scheme = Scheme {
    background: "#14181d",
    text: "#e6e9ed",
    muted: "#a3adb8",
    grid: "#343b44",
    series: [
        "#6cb2ff", "#ff9d5c", "#4fd1a5", "#d59bf6", "#e0c04a", "#ff86bb", "#5fd0e0", "#b4bcc6",
    ],
};

/// Rules that do not depend on the scheme.
const RULES: &str = "\
.chart text{font:13px system-ui,-apple-system,\"Segoe UI\",Roboto,\"Helvetica Neue\",Arial,\
sans-serif}\
.chart .h{font-size:17px;font-weight:600}.chart .b{font-weight:600}.chart .n{font-size:12px}\
.chart .grid{stroke-width:1;fill:none}.chart .axis{stroke-width:1.2;fill:none}\
.chart .ln{fill:none;stroke:currentColor;stroke-width:2.4;stroke-linejoin:round;\
stroke-linecap:round}\
.chart .dash{fill:none;stroke:currentColor;stroke-width:1.8;stroke-dasharray:5 4}\
.chart .thin{fill:none;stroke:currentColor;stroke-width:1.4}\
.chart .band{fill:currentColor;fill-opacity:.16;stroke:none}\
.chart .soft{fill:currentColor;fill-opacity:.4;stroke:none}\
.chart .fill{fill:currentColor}\
.chart .pt{fill:currentColor;stroke-width:1.5;paint-order:stroke}\
.chart .open{stroke:currentColor;stroke-width:2}";

fn colours(scheme: &Scheme) -> String {
    let Scheme { background, text, muted, grid, series } = scheme;
    let mut css = format!(
        ".chart .bg{{fill:{background}}}.chart text{{fill:{text}}}\
         .chart .n{{fill:{muted}}}.chart .q{{color:{muted}}}\
         .chart .in{{fill:{background};font-size:12px}}\
         .chart .grid{{stroke:{grid}}}.chart .axis{{stroke:{muted}}}\
         .chart .box{{fill:none;stroke:{muted};stroke-width:1.2}}\
         .chart .pt,.chart .gap{{stroke:{background}}}.chart .open{{fill:{background}}}"
    );
    for (index, colour) in series.iter().enumerate() {
        css.push_str(&format!(".chart .s{index}{{color:{colour}}}"));
    }
    css
}

/// Returns the rules for charts, first for the light scheme, then for readers who prefer the dark
/// one.
pub(crate) fn css() -> String {
    format!(
        "{RULES}{}@media(prefers-color-scheme:dark){{{}}}@media print{{{}}}",
        colours(&LIGHT),
        colours(&DARK),
        colours(&LIGHT)
    )
}

/// Returns the class of series `index`.
pub(crate) fn series(index: usize) -> String {
    format!("s{}", index % SERIES)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the relative luminance of a colour (Web Content Accessibility Guidelines 2.2).
    fn luminance(colour: &str) -> f64 {
        let channel = |from: usize| {
            let value = u8::from_str_radix(&colour[from..from + 2], 16).expect("a colour");
            let value = f64::from(value) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn all_that_may_be_text_has_contrast() {
        assert!((contrast("#000000", "#ffffff") - 21.0).abs() < 1e-9);
        for scheme in [&LIGHT, &DARK] {
            for colour in scheme.series.iter().chain([&scheme.text, &scheme.muted]) {
                let found = contrast(colour, scheme.background);
                assert!(found >= 4.5, "{colour} on {}: {found:.2}", scheme.background);
            }
        }
    }
}
