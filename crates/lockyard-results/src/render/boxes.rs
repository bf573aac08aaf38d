//! Stacked text boxes for pictures of machines and hosts.

/// Maximum number of sockets, or of complexes per socket, in a picture. If there are more, the
/// picture shows the first ones and the last one.
pub const DRAWN: usize = 4;

/// Stacks boxes vertically, with the text `between` between them. Lines are wrapped to keep each
/// box within `most` columns.
pub fn framed(boxes: &[Vec<String>], between: &str, most: usize) -> String {
    // Formatting limits the width of a field, so a wider line sticks out of its box.
    const WIDEST: usize = 1000;
    let options = textwrap::Options::new(most.clamp(20, WIDEST) - 4).subsequent_indent("  ");
    let wrapped = |lines: &Vec<String>| -> Vec<String> {
        let lines = lines.iter().flat_map(|line| textwrap::wrap(line, &options));
        lines.map(|line| line.into_owned()).collect()
    };
    let boxes: Vec<Vec<String>> = boxes.iter().map(wrapped).collect();
    let width = boxes.iter().flatten().map(|line| line.chars().count().min(WIDEST)).max();
    let width = width.unwrap_or(0);
    let between = format!("{between:^width$}", width = width + 4);
    let edge = format!("+{}+\n", "-".repeat(width + 2));
    let mut text = String::new();
    for (index, lines) in boxes.iter().enumerate() {
        if index > 0 {
            text.push_str(&format!("{}\n", between.trim_end()));
        }
        text.push_str(&edge);
        for line in lines {
            text.push_str(&format!("| {line:<width$} |\n"));
        }
        text.push_str(&edge);
    }
    text
}

/// Returns the indices to draw; `None` stands for those left out.
pub fn drawn(count: usize) -> Vec<Option<usize>> {
    if count <= DRAWN {
        return (0..count).map(Some).collect();
    }
    (0..DRAWN - 2).map(Some).chain([None, Some(count - 1)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_wrapped_within_its_box() {
        let lines = vec!["short".to_owned(), "a longer line than the box has room for".to_owned()];
        let text = framed(&[lines], "|", 30);
        assert!(text.lines().all(|line| line.len() == text.find('\n').unwrap()), "{text}");
        assert!(text.lines().count() == 5 && text.find('\n') <= Some(30), "{text}");
    }

    #[test]
    fn of_many_sockets_some_are_drawn() {
        assert_eq!(drawn(2), [Some(0), Some(1)]);
        assert_eq!(drawn(8), [Some(0), Some(1), None, Some(7)]);
    }
}
