//! Messages of protocol buffers, as far as traces need them. Messages are only written, not read.
//!
//! The encoding is that of <https://protobuf.dev/programming-guides/encoding/>.

/// A message that is being written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message {
    bytes: Vec<u8>,
}

/// Wire types.
const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const LENGTH: u64 = 2;

impl Message {
    pub(crate) fn new() -> Message {
        Message::default()
    }

    pub(crate) fn bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    fn key(&mut self, field: u64, kind: u64) {
        self.varint(field << 3 | kind);
    }

    /// Adds an unsigned number, a Boolean value or an enumerator.
    pub(crate) fn number(mut self, field: u64, value: u64) -> Message {
        self.key(field, VARINT);
        self.varint(value);
        self
    }

    /// Adds a signed number (`int32` or `int64`).
    pub(crate) fn signed(self, field: u64, value: i64) -> Message {
        // A negative number is written as its two's complement.
        self.number(field, value as u64)
    }

    /// Adds a number of eight bytes.
    pub(crate) fn fixed(mut self, field: u64, value: u64) -> Message {
        self.key(field, FIXED64);
        self.bytes.extend(value.to_le_bytes());
        self
    }

    /// Adds a text.
    pub(crate) fn text(self, field: u64, text: &str) -> Message {
        self.block(field, text.as_bytes())
    }

    /// Adds a message.
    pub(crate) fn message(self, field: u64, message: Message) -> Message {
        self.block(field, &message.bytes)
    }

    fn block(mut self, field: u64, bytes: &[u8]) -> Message {
        self.key(field, LENGTH);
        self.varint(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_encoded_as_the_specification_shows() {
        assert_eq!(Message::new().number(1, 150).bytes(), [0x08, 0x96, 0x01]);
        let text = Message::new().text(2, "testing");
        assert_eq!(text.clone().bytes(), b"\x12\x07testing");
        assert_eq!(
            Message::new().message(3, Message::new().number(1, 150)).bytes(),
            [0x1a, 0x03, 0x08, 0x96, 0x01]
        );
        let minus_two = Message::new().signed(1, -2).bytes();
        assert_eq!(minus_two, [8, 254, 255, 255, 255, 255, 255, 255, 255, 255, 1]);
        assert_eq!(Message::new().fixed(47, 3).bytes(), [0xf9, 0x02, 3, 0, 0, 0, 0, 0, 0, 0]);
    }
}
