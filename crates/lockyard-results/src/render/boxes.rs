//! Boxes of text below each other, as pictures of machines and hosts are made of.

/// So many sockets, or complexes of a socket, are drawn; of more the first ones and the last.
pub const DRAWN: usize = 4;

/// Boxes below each other, with what is `between` them.
pub fn framed(boxes: &[Vec<String>], between: &str) -> String {
    // A wider line sticks out: no field can be as wide as a text can be long.
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

/// The indices that are drawn; `None` stands for those left out.
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
