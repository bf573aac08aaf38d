//! Linux's counters, by `perf_event_open`. Each counter is opened separately, not in a group, so
//! one that fails does not affect the others.

use super::{Count, Counters, Event, Reading, Recorded, Source, Surroundings, why};
use perf_event::events::Hardware;
use perf_event::{Builder, Counter, ReadFormat};

/// The operating system's counters.
#[derive(Clone, Copy, Debug, Default)]
pub struct System(());

impl Source for System {
    fn open(&self) -> Box<dyn Counters> {
        Box::new(Opened::here())
    }
}

struct Opened(Vec<(Event, Result<Counter, std::io::Error>)>);

/// Opens a counter for user mode only, because counting kernel mode needs a privilege.
fn open(event: Event) -> Result<Counter, std::io::Error> {
    let event = match event {
        Event::Cycles => Hardware::CPU_CYCLES,
        Event::Instructions => Hardware::INSTRUCTIONS,
        Event::CacheReferences => Hardware::CACHE_REFERENCES,
        Event::CacheMisses => Hardware::CACHE_MISSES,
        Event::Branches => Hardware::BRANCH_INSTRUCTIONS,
        Event::BranchMisses => Hardware::BRANCH_MISSES,
    };
    Builder::new(event)
        .observe_self()
        .any_cpu()
        .exclude_kernel(true)
        .exclude_hv(true)
        .read_format(ReadFormat::TOTAL_TIME_ENABLED | ReadFormat::TOTAL_TIME_RUNNING)
        .build()
}

impl Counters for Opened {
    fn start(&mut self) {
        for (_, counter) in &mut self.0 {
            if let Ok(opened) = counter
                && let Err(error) = opened.enable()
            {
                *counter = Err(error);
            }
        }
    }

    fn stop(&mut self) -> Reading {
        let reason = |error| why(error, Surroundings::here());
        self.end().into_iter().map(|(event, count)| (event, count.map_err(reason))).collect()
    }
}

impl Opened {
    fn here() -> Opened {
        Opened(Event::ALL.map(|event| (event, open(event))).into())
    }

    /// Stops all counters before reading any of them. Returns the error number of each failed
    /// counter.
    fn end(&mut self) -> Vec<(Event, Result<Count, i32>)> {
        for (_, counter) in &mut self.0 {
            if let Ok(opened) = counter
                && let Err(error) = opened.disable()
            {
                *counter = Err(error);
            }
        }
        let read = |counter: &mut Result<Counter, std::io::Error>| {
            let number = |error: &std::io::Error| error.raw_os_error().unwrap_or(libc::EIO);
            let counter = counter.as_mut().map_err(|error| number(error))?;
            let found = counter.read_count_and_time().map_err(|error| number(&error))?;
            Ok(Count {
                value: found.count,
                enabled: found.time_enabled,
                running: found.time_running,
            })
        };
        self.0.iter_mut().map(|(event, counter)| (*event, read(counter))).collect()
    }
}

/// Counts the events of `work` on the calling thread, and returns them as a recording of this host.
pub fn record(work: impl FnOnce()) -> Recorded {
    let mut opened = Opened::here();
    opened.start();
    work();
    Recorded::new(opened.end(), Surroundings::here())
}
