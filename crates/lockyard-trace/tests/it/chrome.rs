//! Chrome's format.

use crate::sample::trace;
use lockyard_trace::Form;
use serde_json::Value;

#[test]
fn the_json_form_of_a_small_trace_is_the_committed_one() {
    let written = String::from_utf8(Form::Chrome.write(&trace())).expect("it is text");
    assert_eq!(written, include_str!("sample.json"));
}

#[test]
fn the_json_form_is_json_and_has_each_event() {
    let json: Value = serde_json::from_slice(&Form::Chrome.write(&trace())).expect("it is JSON");
    let events = json["traceEvents"].as_array().expect("it is a list");
    let count = |kind: &str| events.iter().filter(|event| event["ph"] == kind).count();
    assert_eq!((count("B"), count("E"), count("C")), (6, 6, 3));
    assert_eq!((count("s"), count("f"), count("X")), (1, 1, 1));
    assert_eq!(json["otherData"]["scenario"], "x");
}
