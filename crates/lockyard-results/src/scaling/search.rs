//! Levenberg and Marquardt's search for a least sum of squares in at most three parameters, after
//! Marquardt, "An algorithm for least-squares estimation of nonlinear parameters" (1963).
//!
//! It is here because linear algebra for so few parameters is shorter than the crates that do it
//! for any number.

/// Greatest number of steps. Then the search ends, wherever it is.
const MOST_STEPS: usize = 500;

/// Damping of the first step, as a share of the diagonal.
const FIRST_DAMPING: f64 = 1e-3;

/// Damping above which no step is tried. A step is then below the last digits of the parameters.
const GREATEST_DAMPING: f64 = 1e20;

/// One row of a problem: the residual, and its derivatives by the parameters. Those that are not
/// free have derivative 0.
pub(super) struct Row {
    /// Observed value less the predicted one, or the reverse.
    pub residual: f64,
    /// Derivative of the residual by each parameter.
    pub slope: [f64; 3],
}

/// Returns the parameters with the least sum of squares near `start`, and that sum. `rows` returns
/// the rows for parameters; `None` where the model is undefined, so the search turns back.
pub(super) fn minimise(
    start: [f64; 3],
    rows: impl Fn([f64; 3]) -> Option<Vec<Row>>,
) -> Option<([f64; 3], f64)> {
    let mut at = start;
    let mut now = rows(at)?;
    let mut least = squares(&now);
    let mut damping = FIRST_DAMPING;
    for _ in 0..MOST_STEPS {
        let step = step(&now, damping);
        let next = [0, 1, 2].map(|i| at[i] - step[i]);
        let tried = rows(next).map(|rows| (squares(&rows), rows));
        match tried.filter(|(sum, _)| *sum < least) {
            Some((sum, rows)) => {
                (at, now, least) = (next, rows, sum);
                damping = (damping / 10.0).max(f64::MIN_POSITIVE);
            }
            None if damping < GREATEST_DAMPING => damping = (damping * 10.0).max(f64::EPSILON),
            None => break,
        }
    }
    Some((at, least))
}

/// Returns the solution of a linear problem: the step from 0 to the least sum of squares.
pub(super) fn linear(rows: &[Row]) -> [f64; 3] {
    step(rows, 0.0)
}

fn squares(rows: &[Row]) -> f64 {
    rows.iter().map(|row| row.residual * row.residual).sum()
}

/// Returns the step that solves the damped normal equations `(JᵀJ + damping diag(JᵀJ)) step = Jᵀr`.
/// A parameter does not move if its derivatives are all 0, or are a mix of the earlier ones.
fn step(rows: &[Row], damping: f64) -> [f64; 3] {
    let product = |a: &dyn Fn(&Row) -> f64, b: &dyn Fn(&Row) -> f64| -> f64 {
        rows.iter().map(|row| a(row) * b(row)).sum()
    };
    // Columns of length 1, so that the sizes of the parameters do not matter.
    let length = [0, 1, 2].map(|i| product(&|row| row.slope[i], &|row| row.slope[i]).sqrt());
    let unit = |row: &Row, i: usize| if length[i] > 0.0 { row.slope[i] / length[i] } else { 0.0 };
    // Cholesky's factor, by rows, and the solution of its lower half.
    let mut factor = [[0.0; 3]; 3];
    let mut half = [0.0; 3];
    for i in 0..3 {
        for j in 0..=i {
            let mut sum = product(&|row| unit(row, i), &|row| unit(row, j));
            if i == j {
                sum *= 1.0 + damping;
            }
            sum -= (0..j).map(|k| factor[i][k] * factor[j][k]).sum::<f64>();
            factor[i][j] = if i == j {
                if sum > 1e-14 { sum.sqrt() } else { 0.0 }
            } else if factor[j][j] > 0.0 {
                sum / factor[j][j]
            } else {
                0.0
            };
        }
        let known: f64 = (0..i).map(|k| factor[i][k] * half[k]).sum();
        let wanted = product(&|row| unit(row, i), &|row| row.residual) - known;
        half[i] = if factor[i][i] > 0.0 { wanted / factor[i][i] } else { 0.0 };
    }
    let mut step = [0.0; 3];
    for i in (0..3).rev() {
        let known: f64 = (i + 1..3).map(|k| factor[k][i] * step[k]).sum();
        step[i] = if factor[i][i] > 0.0 { (half[i] - known) / factor[i][i] } else { 0.0 };
    }
    [0, 1, 2].map(|i| if length[i] > 0.0 { step[i] / length[i] } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of `y = p0 + p1 x + p2 x^2` through points.
    fn parabola(points: &[(f64, f64)], at: [f64; 3]) -> Vec<Row> {
        let row = |&(x, y): &(f64, f64)| {
            let slope = [1.0, x, x * x];
            Row { residual: (0..3).map(|i| at[i] * slope[i]).sum::<f64>() - y, slope }
        };
        points.iter().map(row).collect()
    }

    fn near(found: [f64; 3], wanted: [f64; 3]) -> bool {
        (0..3).all(|i| (found[i] - wanted[i]).abs() < 1e-9 * (1.0 + wanted[i].abs()))
    }

    #[test]
    fn a_linear_problem_takes_one_step() {
        let wanted = [3.0, -2.0, 0.5];
        let points = [0.0, 1.0, 5.0, 9.0].map(|x| (x, 3.0 - 2.0 * x + 0.5 * x * x));
        let step = linear(&parabola(&points, [0.0; 3]));
        assert!(near(step.map(|s| -s), wanted), "{step:?}");
    }

    #[test]
    fn parameters_that_nothing_depends_on_stay() {
        // At 0 only the first one counts. At 1 only the sum is known: without damping, only the
        // first one moves.
        let found = minimise([0.0, 7.0, 8.0], |at| Some(parabola(&[(0.0, 5.0)], at))).unwrap();
        assert!(near(found.0, [5.0, 7.0, 8.0]), "{found:?}");
        let points = [(1.0, 4.0), (1.0, 6.0)];
        assert!(near(linear(&parabola(&points, [0.0; 3])), [-5.0, 0.0, 0.0]));
        let found = minimise([0.0; 3], |at| Some(parabola(&points, at))).unwrap();
        assert!((found.1 - 2.0).abs() < 1e-9 && (found.0.iter().sum::<f64>() - 5.0).abs() < 1e-9);
    }

    #[test]
    fn a_curved_problem_is_searched_around_what_is_undefined() {
        // Least squares of exp(p0 x) through one point, undefined above p0 = 2.
        let rows = |at: [f64; 3]| {
            let row = |x: f64| {
                let value = (at[0] * x).exp();
                Row { residual: value - (1.5 * x).exp(), slope: [x * value, 0.0, 0.0] }
            };
            (at[0] < 2.0).then(|| [1.0, 2.0, 3.0].map(row).into())
        };
        for start in [-3.0, 0.0, 1.9] {
            let found = minimise([start, 7.0, 0.0], rows).unwrap();
            assert!(near(found.0, [1.5, 7.0, 0.0]), "{start}: {found:?}");
        }
        assert!(minimise([2.5, 0.0, 0.0], rows).is_none());
    }
}
