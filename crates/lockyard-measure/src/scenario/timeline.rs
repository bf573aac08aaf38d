//! Timeline of a window with samples. Operations are read at the end of each sample. Disturbances
//! by other tasks begin at stated times, on separate threads.

use super::watch::Watch;
use lockyard_scenarios::{Samples, Stage};
use lockyard_support::jobs;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// Event on the timeline.
enum Event {
    /// End of a sample.
    Sample,
    /// Beginning of the disturbance with this number.
    Disturbance(usize),
}

/// Waits for the samples, which start at `begin`. Returns the length of each sample and the
/// operations of each thread in it. Ends early after an interrupt.
///
/// # Errors
///
/// If the run stalls, or a disturbance does not end.
pub(crate) fn pass<S: Stage>(
    watch: &Watch<S>,
    samples: Samples,
    begin: Instant,
) -> Result<Vec<(Duration, Vec<u64>)>, String> {
    let mut events: Vec<(f64, Event)> =
        (1..=samples.number).map(|sample| (sample as f64, Event::Sample)).collect();
    for (number, disturbance) in watch.cell.variant.disturbances.iter().enumerate() {
        events.push((disturbance.sample, Event::Disturbance(number)));
    }
    events.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (sender, receiver) = channel();
    let (mut begun, mut before) = (begin, watch.dog.counts());
    let mut counted = Vec::new();
    let mut disturbing = 0;
    for (sample, event) in events {
        let at = begin + Duration::from_secs_f64(sample * samples.seconds);
        watch.dog.sleep(at.saturating_duration_since(Instant::now()))?;
        if jobs::interrupted() {
            break;
        }
        match event {
            Event::Sample => {
                let (counts, now) = (watch.dog.counts(), Instant::now());
                let done = counts.iter().zip(&before).map(|(now, before)| now - before).collect();
                counted.push((now - begun, done));
                (before, begun) = (counts, now);
            }
            Event::Disturbance(number) => {
                let (shared, sender) = (Arc::clone(watch.shared), sender.clone());
                let disturb = move || {
                    for prepared in &shared.prepared {
                        prepared.disturb(number);
                    }
                    drop(shared);
                    // Sending fails only if the main thread has given up.
                    let _ = sender.send(());
                };
                let spawned = std::thread::Builder::new().spawn(disturb);
                spawned.map_err(|e| format!("a task that disturbs cannot be started: {e}"))?;
                disturbing += 1;
            }
        }
    }
    for _ in 0..disturbing {
        watch.dog.receive(&receiver)?;
    }
    Ok(counted)
}
