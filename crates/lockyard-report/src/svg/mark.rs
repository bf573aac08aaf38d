//! Marks of points: a shape for each series.

use super::number;

/// Shape of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A disc.
    Circle,
    /// Square.
    Square,
    /// Triangle that points up.
    Up,
    /// Square that stands on a corner.
    Diamond,
    /// Triangle that points down.
    Down,
    /// Upright cross.
    Plus,
    /// Hexagon.
    Hexagon,
    /// Upright bar.
    Bar,
}

const SHAPES: [Shape; 7] = [
    Shape::Circle,
    Shape::Square,
    Shape::Up,
    Shape::Diamond,
    Shape::Down,
    Shape::Plus,
    Shape::Hexagon,
];

/// Returns the shape of series `index`.
pub(crate) fn shape(index: usize) -> Shape {
    SHAPES[index % SHAPES.len()]
}

/// Returns the path of a mark of about this radius.
pub(crate) fn path(shape: Shape, [x, y]: [f64; 2], radius: f64) -> String {
    let r = radius;
    let polygon = |corners: &[[f64; 2]]| {
        let mut path = String::new();
        for (index, [dx, dy]) in corners.iter().enumerate() {
            let command = if index == 0 { 'M' } else { 'L' };
            path.push_str(&format!("{command}{} {}", number(x + dx * r), number(y + dy * r)));
        }
        path + "Z"
    };
    match shape {
        Shape::Circle => {
            let (r, twice) = (number(r), number(2.0 * r));
            format!(
                "M{} {}a{r} {r} 0 1 0 {twice} 0a{r} {r} 0 1 0 -{twice} 0Z",
                number(x - radius),
                number(y)
            )
        }
        Shape::Square => polygon(&[[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]]),
        Shape::Up => polygon(&[[0.0, -1.2], [1.1, 0.8], [-1.1, 0.8]]),
        Shape::Down => polygon(&[[0.0, 1.2], [1.1, -0.8], [-1.1, -0.8]]),
        Shape::Diamond => polygon(&[[0.0, -1.25], [1.25, 0.0], [0.0, 1.25], [-1.25, 0.0]]),
        Shape::Plus => polygon(&[
            [-0.4, -1.2],
            [0.4, -1.2],
            [0.4, -0.4],
            [1.2, -0.4],
            [1.2, 0.4],
            [0.4, 0.4],
            [0.4, 1.2],
            [-0.4, 1.2],
            [-0.4, 0.4],
            [-1.2, 0.4],
            [-1.2, -0.4],
            [-0.4, -0.4],
        ]),
        Shape::Hexagon => polygon(&[
            [-1.1, 0.0],
            [-0.55, -0.95],
            [0.55, -0.95],
            [1.1, 0.0],
            [0.55, 0.95],
            [-0.55, 0.95],
        ]),
        Shape::Bar => polygon(&[[-0.3, -1.4], [0.3, -1.4], [0.3, 1.4], [-0.3, 1.4]]),
    }
}
