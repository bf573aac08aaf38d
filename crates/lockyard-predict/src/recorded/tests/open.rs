//! Requests that come from outside: throughput is theirs until the threads are busy all the time.

use super::*;
use lockyard_recording::script::OPEN;
use lockyard_results::details::RequestsDetail;

/// Time that a thread sleeps for a request, and works on one, in nanoseconds.
const SLEPT: u64 = 300_000;
const WORK: u64 = 100_000;

/// Returns a recording of a thread that sleeps, and then does a request with one short hold.
fn server() -> Recording {
    let request = [
        Event::OffCpu { time: SLEPT, slept: true },
        Event::Acquired { after: SLEPT + WORK, lock: 0, site: 0, how: How::Waits, wait: 0 },
        Event::Released { after: 110, lock: 0 },
    ];
    let mut recording = recording(200.0, skylake());
    let events = (0..500).flat_map(|_| request).collect();
    recording.windows = vec![Window { thread: 1, events, ..Window::default() }];
    recording.about.seconds = recording.windows[0].duration() as f64 / 1e9;
    recording
}

/// Returns what comes of requests at a rate.
fn requests(rate: f64, threads: usize) -> RequestsDetail {
    let mut recorded = Recorded::new(server()).expect("it is replayed");
    recorded.open(rate).expect("it sleeps for input");
    let variant = recorded.script.variant(OPEN).expect("it was added");
    assert!((script::offered(variant, threads) / rate - 1.0).abs() < 1e-9);
    let host = recorded.host().expect("it has one");
    replay(host, variant, threads).expect("it runs").requests.expect("requests come")
}

#[test]
fn threads_are_as_busy_as_the_requests_make_them() {
    // A request takes a tenth of a millisecond.
    for (rate, threads, busy) in [(2_000.0, 1, 0.2), (5_000.0, 1, 0.5), (20_000.0, 4, 0.5)] {
        let found = requests(rate, threads);
        assert!((found.begun_per_s / rate - 1.0).abs() < 0.03, "{found:?}");
        assert!((found.share_busy / busy - 1.0).abs() < 0.1, "{rate} {threads}: {found:?}");
    }
}

#[test]
fn requests_wait_as_a_queue_with_one_server_says() {
    // Requests at random times need 100 us each, half of what one thread can do. One in ten waits
    // for more than 152 us, and one in a hundred for more than 335 us, by 400,000 steps of the
    // recurrence of D. V. Lindley, *The Theory of Queues with a Single Server*, 1952.
    let waits = requests(5_000.0, 1).waits;
    let (p90, p99) = (waits.p90.expect("they are many"), waits.p99.expect("they are many"));
    assert!((120_000..190_000).contains(&p90), "{waits:?}");
    assert!((270_000..420_000).contains(&p99), "{waits:?}");
    // With four threads, hardly any request waits for another.
    let few = requests(5_000.0, 4).waits;
    assert!(few.p90 < Some(20_000), "{few:?}");
}

#[test]
fn more_requests_than_the_threads_can_do_saturate_them() {
    let found = requests(50_000.0, 2);
    assert!(found.share_busy > 0.99, "{found:?}");
    let most = 2.0 * 1e9 / WORK as f64;
    assert!((found.begun_per_s / most - 1.0).abs() < 0.05, "{found:?}");
}

#[test]
fn a_program_that_hardly_sleeps_has_no_requests() {
    let mut recorded = Recorded::new(recording(1_145.0, skylake())).expect("it is replayed");
    let why = recorded.open(1_000.0).expect_err("it never sleeps");
    assert_eq!(
        why,
        "the threads of made sleep for input for 0.0 % of their time; allowed: a recording in \
         which they do for at least 50 %"
    );
}
