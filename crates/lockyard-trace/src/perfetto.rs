//! Perfetto's format: a sequence of trace packets, which are protocol buffers.
//!
//! Numbers of fields and enumerators are those of Perfetto's `trace_packet.proto`,
//! `track_descriptor.proto` and `track_event.proto`. All packets form one sequence. Its first
//! packet says that there is no earlier state. Names are interned: the first event with a name also
//! writes the name, and later events have only its number.

use crate::model::{Event, Kind, Process, Trace, Track, What};
use crate::protobuf::Message;

/// Fields of `Trace`.
mod trace {
    pub(super) const PACKET: u64 = 1;
}

/// Fields of `TracePacket`, and flags of a sequence.
mod packet {
    pub(super) const TIMESTAMP: u64 = 8;
    pub(super) const SEQUENCE: u64 = 10;
    pub(super) const TRACK_EVENT: u64 = 11;
    pub(super) const INTERNED_DATA: u64 = 12;
    pub(super) const SEQUENCE_FLAGS: u64 = 13;
    pub(super) const TRACK_DESCRIPTOR: u64 = 60;
    pub(super) const FIRST_ON_SEQUENCE: u64 = 87;

    pub(super) const STATE_CLEARED: u64 = 1;
    pub(super) const NEEDS_STATE: u64 = 2;
}

/// Fields of `TrackDescriptor` and its parts.
mod descriptor {
    pub(super) const UUID: u64 = 1;
    pub(super) const NAME: u64 = 2;
    pub(super) const PROCESS: u64 = 3;
    pub(super) const THREAD: u64 = 4;
    pub(super) const PARENT: u64 = 5;
    pub(super) const COUNTER: u64 = 8;
    pub(super) const CHILD_ORDERING: u64 = 11;
    pub(super) const RANK: u64 = 12;

    pub(super) const EXPLICIT: u64 = 3;

    pub(super) const PID: u64 = 1;
    pub(super) const PROCESS_NAME: u64 = 6;
    pub(super) const TID: u64 = 2;
    pub(super) const THREAD_NAME: u64 = 5;
    pub(super) const COUNTER_UNIT: u64 = 3;
    pub(super) const UNIT_COUNT: u64 = 2;
}

/// Fields of `TrackEvent` and its parts.
mod event {
    pub(super) const ANNOTATION: u64 = 4;
    pub(super) const KIND: u64 = 9;
    pub(super) const NAME_NUMBER: u64 = 10;
    pub(super) const TRACK: u64 = 11;
    pub(super) const NAME: u64 = 23;
    pub(super) const COUNTER_VALUE: u64 = 30;
    pub(super) const FLOW: u64 = 47;
    pub(super) const TERMINATING_FLOW: u64 = 48;

    pub(super) const BEGIN: u64 = 1;
    pub(super) const END: u64 = 2;
    pub(super) const COUNTER: u64 = 4;

    pub(super) const ANNOTATION_TEXT: u64 = 6;
    pub(super) const ANNOTATION_NAME: u64 = 10;

    pub(super) const EVENT_NAMES: u64 = 2;
    pub(super) const INTERNED_NUMBER: u64 = 1;
    pub(super) const INTERNED_TEXT: u64 = 2;
}

/// Index of the only sequence.
const SEQUENCE: u64 = 1;

/// Index of the track with facts about the trace.
const ABOUT: u64 = 1;

/// Name of that track.
const ABOUT_NAME: &str = "about this trace";

/// Numbers of threads of a process: a process and a thread of one number are the main thread.
const THREADS: u64 = 10_000;

/// Number of a process's own track.
fn process_uuid(process: usize) -> u64 {
    (process as u64 + 1) << 32
}

fn track_uuid(process: usize, track: usize) -> u64 {
    process_uuid(process) | (track as u64 + 1)
}

/// Returns the first bytes of every file: the begin of the sequence, and the first track.
pub(crate) fn begin() -> Vec<u8> {
    Written::begin(0).all.bytes()
}

/// Returns the trace in Perfetto's format.
pub(crate) fn packets(trace: &Trace) -> Vec<u8> {
    let mut written = Written::begin(trace.names.len());
    written.state_facts(trace);
    for (index, process) in trace.processes.iter().enumerate() {
        written.describe_process(index, process);
        for event in &process.events {
            written.event(index, event, &trace.names);
        }
    }
    written.all.bytes()
}

/// Packets that are being written.
struct Written {
    all: Message,
    /// For each name, true if it has been written.
    is_known: Vec<bool>,
}

impl Written {
    /// Begins the sequence, with the track for facts about the trace.
    fn begin(names: usize) -> Written {
        let mut written = Written { all: Message::new(), is_known: vec![false; names] };
        written.add(
            Message::new()
                .number(packet::SEQUENCE_FLAGS, packet::STATE_CLEARED)
                .number(packet::FIRST_ON_SEQUENCE, 1),
        );
        let about = Message::new().number(descriptor::UUID, ABOUT);
        written.describe(about.text(descriptor::NAME, ABOUT_NAME));
        written
    }

    fn add(&mut self, packet: Message) {
        let packet = packet.number(packet::SEQUENCE, SEQUENCE);
        self.all = std::mem::take(&mut self.all).message(trace::PACKET, packet);
    }

    fn describe(&mut self, descriptor: Message) {
        self.add(Message::new().message(packet::TRACK_DESCRIPTOR, descriptor));
    }

    /// Adds the facts about the trace, as one slice over its whole time.
    fn state_facts(&mut self, trace: &Trace) {
        let mut begin = Message::new()
            .number(event::TRACK, ABOUT)
            .number(event::KIND, event::BEGIN)
            .text(event::NAME, ABOUT_NAME);
        for (name, value) in &trace.about {
            let fact = Message::new()
                .text(event::ANNOTATION_NAME, name)
                .text(event::ANNOTATION_TEXT, value);
            begin = begin.message(event::ANNOTATION, fact);
        }
        let end = Message::new().number(event::TRACK, ABOUT).number(event::KIND, event::END);
        for (time, event) in [(0, begin), (trace.end(), end)] {
            let packet = Message::new().number(packet::TIMESTAMP, time);
            self.add(packet.message(packet::TRACK_EVENT, event));
        }
    }

    fn describe_process(&mut self, index: usize, process: &Process) {
        let pid = index as u64 + 1;
        let about = Message::new()
            .number(descriptor::PID, pid)
            .text(descriptor::PROCESS_NAME, &process.name);
        self.describe(
            Message::new()
                .number(descriptor::UUID, process_uuid(index))
                .message(descriptor::PROCESS, about)
                .number(descriptor::CHILD_ORDERING, descriptor::EXPLICIT),
        );
        for (number, track) in process.tracks.iter().enumerate() {
            self.describe_track(index, number, track);
        }
    }

    fn describe_track(&mut self, process: usize, number: usize, track: &Track) {
        let pid = process as u64 + 1;
        let parent = track.parent.map_or(process_uuid(process), |group| track_uuid(process, group));
        let about = Message::new()
            .number(descriptor::UUID, track_uuid(process, number))
            .number(descriptor::RANK, number as u64);
        self.describe(match track.kind {
            Kind::Thread => {
                let thread = Message::new()
                    .number(descriptor::PID, pid)
                    .number(descriptor::TID, pid * THREADS + number as u64 + 1)
                    .text(descriptor::THREAD_NAME, &track.name);
                about.message(descriptor::THREAD, thread)
            }
            Kind::Group => about
                .number(descriptor::PARENT, parent)
                .text(descriptor::NAME, &track.name)
                .number(descriptor::CHILD_ORDERING, descriptor::EXPLICIT),
            Kind::Slices => {
                about.number(descriptor::PARENT, parent).text(descriptor::NAME, &track.name)
            }
            Kind::Counter => {
                let unit = Message::new().number(descriptor::COUNTER_UNIT, descriptor::UNIT_COUNT);
                about
                    .number(descriptor::PARENT, parent)
                    .text(descriptor::NAME, &track.name)
                    .message(descriptor::COUNTER, unit)
            }
        });
    }

    fn event(&mut self, process: usize, event: &Event, names: &[String]) {
        let packet = Message::new()
            .number(packet::TIMESTAMP, event.time)
            .number(packet::SEQUENCE_FLAGS, packet::NEEDS_STATE);
        let on = Message::new().number(event::TRACK, track_uuid(process, event.track));
        let packet = match event.what {
            What::Begin { name, incoming, outgoing } => {
                // Numbers of interned names begin with 1.
                let number = name as u64 + 1;
                let mut begin =
                    on.number(event::KIND, event::BEGIN).number(event::NAME_NUMBER, number);
                if let Some(flow) = outgoing {
                    begin = begin.fixed(event::FLOW, flow);
                }
                if let Some(flow) = incoming {
                    begin = begin.fixed(event::TERMINATING_FLOW, flow);
                }
                let is_new = !std::mem::replace(&mut self.is_known[name], true);
                let packet = if is_new {
                    let text = Message::new()
                        .number(event::INTERNED_NUMBER, number)
                        .text(event::INTERNED_TEXT, &names[name]);
                    let interned = Message::new().message(event::EVENT_NAMES, text);
                    packet.message(packet::INTERNED_DATA, interned)
                } else {
                    packet
                };
                packet.message(packet::TRACK_EVENT, begin)
            }
            What::End => packet.message(packet::TRACK_EVENT, on.number(event::KIND, event::END)),
            What::Count(value) => packet.message(
                packet::TRACK_EVENT,
                on.number(event::KIND, event::COUNTER).signed(event::COUNTER_VALUE, value),
            ),
        };
        self.add(packet);
    }
}
