//! Scenario scripts. Comments and line endings do not change what a script means.

use crate::errors::{ORIGIN, check_in, text};
use lockyard_scenarios::Script;

pub(crate) fn script(input: &[u8]) {
    let Some(text) = text(input) else { return };
    let found = Script::parse(ORIGIN, text);
    if let Err(error) = &found {
        check_in(text, &error.to_string());
    }
    let (Ok(script), false) = (found, text.contains("\"\"\"") || text.contains("'''")) else {
        return;
    };
    // Not before the text: a script knows the lines of its steps.
    let commented = format!("{text}\n# an end");
    let dos = text.replace("\r\n", "\n").replace('\n', "\r\n");
    for other in [commented, dos] {
        let again = Script::parse(ORIGIN, &other);
        let again = again.unwrap_or_else(|error| panic!("{error}: {other:?}"));
        assert_eq!(script, again, "another script: {other:?}");
    }
}
