//! The events of the machine, and their representation in the queue.
//!
//! Millions of events per second pass through the queue, most of them a few simulated nanoseconds
//! after they were made. An `enum` stored field by field and read back as a whole would stall the
//! host's processor until the stores have reached its cache. So an event is packed into two words,
//! in registers, where it is made.

use super::line::Request;

/// Something that will happen at a known time.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// The thread's operation is complete.
    Resume {
        thread: u32,
        value: u64,
    },
    /// The thread's work is done, if the plan is still valid.
    WorkEnd {
        thread: u32,
        plan: u32,
    },
    /// The unlocked part of the thread's read-modify-write is done. The operation now locks the
    /// line.
    LineHeld {
        thread: u32,
        /// The core's copy of the line, if there is one.
        core_line: Option<u32>,
    },
    /// A sleeper polls again, or a parked thread runs.
    Wake {
        thread: u32,
        generation: u32,
    },
    /// A sleeper's budget is spent, or a parked thread's timeout expires.
    Deadline {
        thread: u32,
        generation: u32,
    },
    /// A request reaches the agent of a domain.
    Arrive {
        line: u32,
        domain: u16,
        request: Request,
    },
    AgentFree {
        line: u32,
        domain: u16,
    },
    Snoop {
        core_line: u32,
        exclusive: bool,
    },
    Invalidate {
        core_line: u32,
    },
    /// The data of a miss reaches the core.
    Data {
        core_line: u32,
        exclusive: bool,
    },
    /// The thread's locked operation releases its line, and then is complete.
    LineFreed {
        thread: u32,
        value: u64,
    },
    /// The turn of the thread that last had the line is over.
    TurnEnd {
        core_line: u32,
    },
    /// A domain's request reaches the home agent.
    Ask {
        line: u32,
        domain: u16,
        exclusive: bool,
    },
    /// The home agent's grant reaches the domain.
    Grant {
        line: u32,
        domain: u16,
        exclusive: bool,
    },
    /// A grant that met a busy agent is tried again.
    TakeGrant {
        line: u32,
        domain: u16,
    },
    HomeFree {
        line: u32,
    },
    /// A thread starts, in a run with a scheduler.
    Begin {
        thread: u32,
    },
    /// The slice of the CPU's running thread is over, if the plan is still valid.
    SliceEnd {
        cpu: u32,
        plan: u32,
    },
    /// The CPU has switched to the next thread.
    Switched {
        cpu: u32,
    },
    /// The host notices that a thread spins, if it is still spinning.
    PauseExit {
        thread: u32,
        generation: u32,
    },
    /// An interrupt reaches the thread. It comes from thread `from`, which waits for an answer.
    Interrupt {
        thread: u32,
        from: u32,
    },
}

/// Kind of a [`Packed`] event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    Resume,
    WorkEnd,
    LineHeld,
    Wake,
    Deadline,
    Arrive,
    AgentFree,
    Snoop,
    Invalidate,
    Data,
    LineFreed,
    TurnEnd,
    Ask,
    Grant,
    TakeGrant,
    HomeFree,
    Begin,
    SliceEnd,
    Switched,
    PauseExit,
    Interrupt,
}

impl Kind {
    /// Returns the kind with this number. (The compiler reduces this `match` to nothing. A table
    /// would need a look-up.)
    #[inline(always)]
    fn numbered(number: u8) -> Kind {
        match number {
            0 => Kind::Resume,
            1 => Kind::WorkEnd,
            2 => Kind::LineHeld,
            3 => Kind::Wake,
            4 => Kind::Deadline,
            5 => Kind::Arrive,
            6 => Kind::AgentFree,
            7 => Kind::Snoop,
            8 => Kind::Invalidate,
            9 => Kind::Data,
            10 => Kind::LineFreed,
            11 => Kind::TurnEnd,
            12 => Kind::Ask,
            13 => Kind::Grant,
            14 => Kind::TakeGrant,
            15 => Kind::HomeFree,
            16 => Kind::Begin,
            17 => Kind::SliceEnd,
            18 => Kind::Switched,
            19 => Kind::PauseExit,
            20 => Kind::Interrupt,
            _ => unreachable!("an event was packed with a kind"),
        }
    }
}

/// An event in two words. The first has 8 bits of kind, 8 bits of flags, 16 bits of domain, and 32
/// bits for a thread, a CPU, a line or a core line. The second is a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packed {
    word: u64,
    value: u64,
}

const FLAGS: u32 = 8;
const PLACE: u32 = 16;
const INDEX: u32 = 32;

/// The flag of an exclusive request.
const EXCLUSIVE: u64 = 1;
/// The flag of a request by another domain.
const SNOOP: u64 = 2;

impl Packed {
    /// Placeholder for an event.
    pub(super) const NOTHING: Packed = Packed { word: 0, value: 0 };
}

impl Event {
    #[inline(always)]
    pub(super) fn pack(self) -> Packed {
        let pack = |kind: Kind, flags: u64, place: u16, index: u32, value: u64| Packed {
            word: kind as u64
                | flags << FLAGS
                | u64::from(place) << PLACE
                | u64::from(index) << INDEX,
            value,
        };
        let flag = |exclusive: bool| u64::from(exclusive) * EXCLUSIVE;
        match self {
            Event::Resume { thread, value } => pack(Kind::Resume, 0, 0, thread, value),
            Event::WorkEnd { thread, plan } => pack(Kind::WorkEnd, 0, 0, thread, plan.into()),
            Event::LineHeld { thread, core_line } => {
                pack(Kind::LineHeld, 0, 0, thread, core_line.map_or(u64::MAX, u64::from))
            }
            Event::Wake { thread, generation } => pack(Kind::Wake, 0, 0, thread, generation.into()),
            Event::Deadline { thread, generation } => {
                pack(Kind::Deadline, 0, 0, thread, generation.into())
            }
            Event::Arrive { line, domain, request } => {
                let (flags, from) = match request {
                    Request::Core { core_line, exclusive } => (flag(exclusive), core_line),
                    Request::Snoop { domain, exclusive } => {
                        (SNOOP | flag(exclusive), domain.into())
                    }
                };
                pack(Kind::Arrive, flags, domain, line, from.into())
            }
            Event::AgentFree { line, domain } => pack(Kind::AgentFree, 0, domain, line, 0),
            Event::Snoop { core_line, exclusive } => {
                pack(Kind::Snoop, flag(exclusive), 0, core_line, 0)
            }
            Event::Invalidate { core_line } => pack(Kind::Invalidate, 0, 0, core_line, 0),
            Event::Data { core_line, exclusive } => {
                pack(Kind::Data, flag(exclusive), 0, core_line, 0)
            }
            Event::LineFreed { thread, value } => pack(Kind::LineFreed, 0, 0, thread, value),
            Event::TurnEnd { core_line } => pack(Kind::TurnEnd, 0, 0, core_line, 0),
            Event::Ask { line, domain, exclusive } => {
                pack(Kind::Ask, flag(exclusive), domain, line, 0)
            }
            Event::Grant { line, domain, exclusive } => {
                pack(Kind::Grant, flag(exclusive), domain, line, 0)
            }
            Event::TakeGrant { line, domain } => pack(Kind::TakeGrant, 0, domain, line, 0),
            Event::HomeFree { line } => pack(Kind::HomeFree, 0, 0, line, 0),
            Event::Begin { thread } => pack(Kind::Begin, 0, 0, thread, 0),
            Event::SliceEnd { cpu, plan } => pack(Kind::SliceEnd, 0, 0, cpu, plan.into()),
            Event::Switched { cpu } => pack(Kind::Switched, 0, 0, cpu, 0),
            Event::PauseExit { thread, generation } => {
                pack(Kind::PauseExit, 0, 0, thread, generation.into())
            }
            Event::Interrupt { thread, from } => pack(Kind::Interrupt, 0, 0, thread, from.into()),
        }
    }
}

/// Fields of events. Each is meaningful only for the kinds that have it.
impl Packed {
    #[inline(always)]
    pub(super) fn kind(self) -> Kind {
        Kind::numbered(self.word as u8)
    }

    pub(super) fn thread(self) -> u32 {
        (self.word >> INDEX) as u32
    }

    pub(super) fn cpu(self) -> u32 {
        (self.word >> INDEX) as u32
    }

    /// The interrupting thread.
    pub(super) fn from(self) -> u32 {
        self.value as u32
    }

    pub(super) fn line(self) -> u32 {
        (self.word >> INDEX) as u32
    }

    pub(super) fn core_line(self) -> u32 {
        (self.word >> INDEX) as u32
    }

    /// The core line of a [`Kind::LineHeld`] event.
    pub(super) fn held_core_line(self) -> Option<u32> {
        u32::try_from(self.value).ok()
    }

    pub(super) fn domain(self) -> u16 {
        (self.word >> PLACE) as u16
    }

    pub(super) fn exclusive(self) -> bool {
        self.word >> FLAGS & EXCLUSIVE != 0
    }

    pub(super) fn value(self) -> u64 {
        self.value
    }

    /// Index of the plan, for an end of work or of a slice.
    pub(super) fn plan(self) -> u32 {
        self.value as u32
    }

    pub(super) fn generation(self) -> u32 {
        self.value as u32
    }

    pub(super) fn request(self) -> Request {
        let exclusive = self.exclusive();
        if self.word >> FLAGS & SNOOP != 0 {
            Request::Snoop { domain: self.value as u16, exclusive }
        } else {
            Request::Core { core_line: self.value as u32, exclusive }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_has_its_number() {
        for number in 0..=Kind::Interrupt as u8 {
            assert_eq!(Kind::numbered(number) as u8, number);
        }
    }

    #[test]
    fn what_is_packed_comes_out_again() {
        let (line, domain, core_line) = (u32::MAX - 1, 0x8001, u32::MAX - 2);
        for exclusive in [false, true] {
            let packed = Event::Data { core_line, exclusive }.pack();
            assert_eq!((packed.kind(), packed.core_line()), (Kind::Data, core_line));
            assert_eq!(packed.exclusive(), exclusive);
            let requests = [
                Request::Core { core_line, exclusive },
                Request::Snoop { domain: 0xfffe, exclusive },
            ];
            for request in requests {
                let packed = Event::Arrive { line, domain, request }.pack();
                assert_eq!((packed.kind(), packed.request()), (Kind::Arrive, request));
                assert_eq!((packed.line(), packed.domain()), (line, domain));
            }
        }
        for core_line in [None, Some(0), Some(u32::MAX - 1)] {
            let packed = Event::LineHeld { thread: 7, core_line }.pack();
            assert_eq!((packed.thread(), packed.held_core_line()), (7, core_line));
        }
        let packed = Event::Resume { thread: 7, value: u64::MAX }.pack();
        assert_eq!((packed.thread(), packed.value()), (7, u64::MAX));
    }
}
