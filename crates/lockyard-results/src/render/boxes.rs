//! Stacked boxes of text, for pictures of machines and hosts.

/// Maximum number of sockets, or of complexes of a socket, in a picture. If there are more, it
/// shows the first ones and the last.
pub const DRAWN: usize = 4;

/// Draws boxes below each other, with the text `between` between them.
pub fn framed(boxes: &[Vec<String>], between: &str) -> String {
    // A wider line sticks out of its box, because formatting limits the width of a field.
    const WIDEST: usize = 1000;
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

/// Returns the indices that are drawn; `None` stands for those left out.
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
    fn of_many_sockets_some_are_drawn() {
        assert_eq!(drawn(2), [Some(0), Some(1)]);
        assert_eq!(drawn(8), [Some(0), Some(1), None, Some(7)]);
    }
}
