//! A reader with a fault behind a chain of comparisons. Random bytes do not meet it in years: a
//! search finds it because it sees how far along the chain an input came.

/// Defines a function that continues with the next one if the input begins with a letter.
macro_rules! step {
    ($name:ident, $letter:literal, $next:ident) => {
        // Not inlined: each step is a place of its own, which the search sees.
        #[inline(never)]
        fn $name(input: &[u8]) {
            if let [$letter, rest @ ..] = input {
                $next(rest);
            }
        }
    };
}

step!(s, b's', i);
step!(i, b'i', z);
step!(z, b'z', e);
step!(e, b'e', equals);
step!(equals, b'=', number);

/// Panics for some numbers.
#[inline(never)]
fn number(input: &[u8]) {
    let digits = input.iter().take_while(|byte| byte.is_ascii_digit());
    let number = digits
        .fold(0_u32, |sum, &digit| sum.saturating_mul(10).saturating_add(u32::from(digit - b'0')));
    assert!(!(5_000..=65_535).contains(&number), "the fault of the control");
}

/// Panics for some inputs that begin with `size=`.
pub(crate) fn control(input: &[u8]) {
    s(input);
}
