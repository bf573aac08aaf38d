//! Perfetto's format, decoded by a reader that is independent of the encoder.
//!
//! `perfetto.descriptor` is a part of Perfetto's own compiled definitions (Apache-2.0, the Perfetto
//! authors), which `.ci/perfetto-definitions` takes from the Python package `perfetto`.

use crate::sample::trace;
use lockyard_trace::{Form, Kind, Trace, What};
use prost_reflect::{DescriptorPool, DynamicMessage, Value};
use std::collections::HashMap;

/// Decodes a trace, and returns its packets.
fn packets(bytes: &[u8]) -> Vec<DynamicMessage> {
    let pool = DescriptorPool::decode(include_bytes!("perfetto.descriptor").as_slice())
        .expect("they are definitions");
    let trace = pool.get_message_by_name("perfetto.protos.Trace").expect("it is defined");
    let trace = DynamicMessage::decode(trace, bytes).expect("it is a trace");
    assert_eq!(trace.unknown_fields().count(), 0);
    messages(&trace, "packet")
}

/// Returns the value of a field that is set.
fn get(message: &DynamicMessage, field: &str) -> Option<Value> {
    message
        .has_field_by_name(field)
        .then(|| message.get_field_by_name(field).expect("the definitions have it").into_owned())
}

fn number(message: &DynamicMessage, field: &str) -> Option<u64> {
    get(message, field).map(|value| match value {
        Value::U64(number) => number,
        Value::U32(number) => number.into(),
        Value::I64(number) => number as u64,
        Value::I32(number) | Value::EnumNumber(number) => number as u64,
        other => panic!("{field}: {other:?}"),
    })
}

fn text(message: &DynamicMessage, field: &str) -> Option<String> {
    get(message, field).map(|value| value.as_str().expect("it is text").to_owned())
}

fn message(message: &DynamicMessage, field: &str) -> Option<DynamicMessage> {
    let found = get(message, field)?;
    let found = found.as_message().expect("it is a message").clone();
    assert_eq!(found.unknown_fields().count(), 0, "{field} has a field that is not defined");
    Some(found)
}

fn messages(message: &DynamicMessage, field: &str) -> Vec<DynamicMessage> {
    let list = get(message, field).unwrap_or(Value::List(Vec::new()));
    let list = list.as_list().expect("it is a list").to_vec();
    let one = |value: Value| {
        let found = value.as_message().expect("a message").clone();
        assert_eq!(found.unknown_fields().count(), 0, "{field} has a field that is not defined");
        found
    };
    list.into_iter().map(one).collect()
}

fn flow(event: &DynamicMessage, field: &str) -> Option<u64> {
    let list = get(event, field)?;
    let list = list.as_list().expect("it is a list").to_vec();
    assert_eq!(list.len(), 1);
    list[0].as_u64()
}

/// Place of a track in the trace: the indices of its process and of the track in it.
type Place = (usize, usize);

/// Checks the description of each track. Returns the track's place for each track number.
fn described(trace: &Trace, packets: &[DynamicMessage]) -> HashMap<u64, Place> {
    let mut found = packets.iter().filter_map(|packet| message(packet, "track_descriptor"));
    let mut places = HashMap::new();
    assert_eq!(text(&found.next().expect("about"), "name").as_deref(), Some("about this trace"));
    for (index, process) in trace.processes.iter().enumerate() {
        let own = found.next().expect("a process");
        let about = message(&own, "process").expect("it is one");
        assert_eq!(text(&about, "process_name").as_deref(), Some(process.name.as_str()));
        let pid = number(&about, "pid");
        let own = number(&own, "uuid").expect("it has a number");
        for (track, expected) in process.tracks.iter().enumerate() {
            let it = found.next().expect("a track");
            let uuid = number(&it, "uuid").expect("it has a number");
            assert_eq!(places.insert(uuid, (index, track)), None, "numbers are unique");
            assert_eq!(number(&it, "sibling_order_rank"), Some(track as u64));
            let thread = message(&it, "thread");
            assert_eq!(thread.is_some(), expected.kind == Kind::Thread);
            assert_eq!(message(&it, "counter").is_some(), expected.kind == Kind::Counter);
            if let Some(thread) = thread {
                assert_eq!(text(&thread, "thread_name").as_deref(), Some(expected.name.as_str()));
                assert_eq!(number(&thread, "pid"), pid);
                assert_ne!(number(&thread, "tid"), pid, "no thread is a main thread");
                continue;
            }
            assert_eq!(text(&it, "name").as_deref(), Some(expected.name.as_str()));
            let parent = number(&it, "parent_uuid").expect("it has one");
            match expected.parent {
                Some(parent_track) => assert_eq!(places[&parent], (index, parent_track)),
                None => assert_eq!(parent, own),
            }
        }
    }
    assert!(found.next().is_none());
    places
}

#[test]
fn perfettos_definitions_decode_each_event() {
    let trace = trace();
    let packets = packets(&Form::Perfetto.write(&trace));
    assert_eq!(number(&packets[0], "sequence_flags"), Some(1), "nothing is known from before");
    for packet in &packets {
        assert_eq!(number(packet, "trusted_packet_sequence_id"), Some(1));
    }
    let places = described(&trace, &packets);
    let mut names = HashMap::new();
    let mut expected = trace
        .processes
        .iter()
        .enumerate()
        .flat_map(|(process, one)| one.events.iter().map(move |event| (process, event)));
    let mut about = 0;
    for packet in &packets {
        for interned in message(packet, "interned_data").iter() {
            for name in messages(interned, "event_names") {
                let known = names.insert(number(&name, "iid"), text(&name, "name"));
                assert_eq!(known, None, "a name is written once");
            }
        }
        let Some(event) = message(packet, "track_event") else { continue };
        let uuid = number(&event, "track_uuid").expect("it is on a track");
        let Some(&place) = places.get(&uuid) else {
            about += messages(&event, "debug_annotations").len();
            continue;
        };
        let (process, event_of) = expected.next().expect("no more events than there are");
        assert_eq!(place, (process, event_of.track));
        assert_eq!(number(packet, "timestamp"), Some(event_of.time));
        assert_eq!(number(packet, "sequence_flags"), Some(2));
        let kind = number(&event, "type");
        match event_of.what {
            What::Begin { name, incoming, outgoing } => {
                assert_eq!(kind, Some(1));
                let named = names[&number(&event, "name_iid")].as_deref();
                assert_eq!(named, Some(trace.names[name].as_str()));
                assert_eq!(flow(&event, "flow_ids"), outgoing);
                assert_eq!(flow(&event, "terminating_flow_ids"), incoming);
            }
            What::End => assert_eq!(kind, Some(2)),
            What::Count(value) => {
                assert_eq!(kind, Some(4));
                assert_eq!(number(&event, "counter_value"), Some(value as u64));
            }
        }
    }
    assert!(expected.next().is_none());
    assert_eq!(about, trace.about.len());
}
