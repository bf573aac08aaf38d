//! A bounded load on a memcached server, which checks each answer.
//!
//! ```text
//! memcached_load ADDRESS [CONNECTIONS [REQUESTS [DEPTH]]]
//! ```
//!
//! Each connection is a thread with keys of its own, so the only right answer to each of its
//! requests is known. Requests are the same in every run. All connections also add to a few shared
//! counters: together, the answers must be each number from one on, once. The last line is a JSON
//! object with the rate and a digest of all answers, which must not depend on the server's locks.
//!
//! The totals of all connections lie behind a recorded lock. `locked` in the last line is how often
//! it was acquired, so `lockyard profile -- memcached_load ...` can be compared with it.

use lockyard_recorded::Recorded;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::ExitCode;
use std::sync::Barrier;
use std::time::{Duration, Instant};

type Mutex<T> = lock_api::Mutex<Recorded<lockyard::RawMutex>, T>;
type Answer<T> = Result<T, String>;

/// Number of keys of each connection.
const KEYS: u64 = 500;
/// Number of counters of all connections together.
const COUNTERS: u64 = 8;
/// Maximum number of bytes of a value.
const LONGEST: u64 = 800;
/// A server that does not answer for this long is stuck.
const STUCK: Duration = Duration::from_secs(20);

static TOTALS: Mutex<Totals> = Mutex::new(Totals::new());

/// Sums over all connections.
struct Totals {
    requests: u64,
    batches: u64,
    slowest: Duration,
    digest: u64,
    added: [u64; COUNTERS as usize],
}

impl Totals {
    const fn new() -> Self {
        Totals {
            requests: 0,
            batches: 0,
            slowest: Duration::ZERO,
            digest: 0,
            added: [0; COUNTERS as usize],
        }
    }
}

/// Mixes a number into 64 well-spread bits (the finaliser of splitmix64).
fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// Adds bytes to a digest (FNV-1a).
fn digest(so_far: u64, bytes: &[u8]) -> u64 {
    let step = |digest: u64, byte: &u8| (digest ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(so_far, step)
}

/// A request, and what the right answer to it depends on.
enum Request {
    Get { expected: Option<String> },
    Set,
    Delete { existed: bool },
    Add { counter: u64 },
}

/// A connection: its keys, and what the server must know of them.
struct Client {
    index: u64,
    stream: BufReader<TcpStream>,
    values: Vec<Option<String>>,
    random: u64,
    digest: u64,
    added: [u64; COUNTERS as usize],
    last: [u64; COUNTERS as usize],
    text: String,
    requests: Vec<Request>,
}

impl Client {
    fn new(address: &str, index: u64) -> Answer<Client> {
        let stream = TcpStream::connect(address).map_err(|error| format!("{address}: {error}"))?;
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        stream.set_read_timeout(Some(STUCK)).map_err(|error| error.to_string())?;
        let mut client = Client {
            index,
            stream: BufReader::with_capacity(1 << 16, stream),
            values: vec![None; KEYS as usize],
            random: mix(index.wrapping_add(1)),
            digest: 0xcbf2_9ce4_8422_2325,
            added: [0; COUNTERS as usize],
            last: [0; COUNTERS as usize],
            text: String::new(),
            requests: Vec::new(),
        };
        // An earlier run may have left values.
        for key in 0..KEYS {
            let _ = write!(client.text, "delete c{index}:k{key} noreply\r\n");
        }
        if index == 0 {
            for counter in 0..COUNTERS {
                let _ = write!(client.text, "set shared:{counter} 0 0 1 noreply\r\n0\r\n");
            }
        }
        client.text.push_str("version\r\n");
        client.send()?;
        let answer = client.line()?;
        if !answer.starts_with("VERSION") {
            return Err(format!("the server answers `version` with `{answer}`"));
        }
        Ok(client)
    }

    fn send(&mut self) -> Answer<()> {
        let sent = self.stream.get_mut().write_all(self.text.as_bytes());
        self.text.clear();
        sent.map_err(|error| format!("sending: {error}"))
    }

    fn line(&mut self) -> Answer<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line).map_err(|error| format!("no answer: {error}"))?;
        line.truncate(line.trim_end().len());
        Ok(line)
    }

    fn next(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.random)
    }

    /// Appends the next request: 60 % get, 25 % set, 5 % delete, 10 % add to a shared counter.
    fn ask(&mut self) {
        let (chance, random) = (self.next() % 100, self.next());
        let (key, index) = (random % KEYS, self.index);
        let at = key as usize;
        let request = match chance {
            0..60 => {
                let _ = write!(self.text, "get c{index}:k{key}\r\n");
                Request::Get { expected: self.values[at].clone() }
            }
            60..85 => {
                let value = value(index, random);
                let _ = write!(self.text, "set c{index}:k{key} 0 0 {}\r\n{value}\r\n", value.len());
                self.values[at] = Some(value);
                Request::Set
            }
            85..90 => {
                let _ = write!(self.text, "delete c{index}:k{key}\r\n");
                Request::Delete { existed: self.values[at].take().is_some() }
            }
            _ => {
                let counter = random % COUNTERS;
                let _ = write!(self.text, "incr shared:{counter} 1\r\n");
                Request::Add { counter }
            }
        };
        self.requests.push(request);
    }

    /// Reads the answer to a request. Everything but the right answer is an error.
    fn check(&mut self, request: Request) -> Answer<()> {
        let line = self.line()?;
        let wrong = |expected: &str| Err(format!("`{line}` where `{expected}` is right"));
        match request {
            Request::Get { expected: None } if line != "END" => return wrong("END"),
            Request::Get { expected: Some(value) } => self.check_value(&line, &value)?,
            Request::Set if line != "STORED" => return wrong("STORED"),
            Request::Delete { existed } => {
                let expected = if existed { "DELETED" } else { "NOT_FOUND" };
                if line != expected {
                    return wrong(expected);
                }
            }
            Request::Add { counter } => return self.check_sum(&line, counter),
            _ => {}
        }
        self.digest = digest(self.digest, line.as_bytes());
        Ok(())
    }

    fn check_value(&mut self, line: &str, value: &str) -> Answer<()> {
        let length = line.rsplit(' ').next().and_then(|length| length.parse::<usize>().ok());
        if !line.starts_with("VALUE ") || length != Some(value.len()) {
            return Err(format!("`{line}` where a value of {} bytes is right", value.len()));
        }
        let mut found = vec![0; value.len() + "\r\nEND\r\n".len()];
        self.stream.read_exact(&mut found).map_err(|error| format!("no value: {error}"))?;
        if found != format!("{value}\r\nEND\r\n").as_bytes() {
            return Err(format!("`{line}` has another value than the one that was set"));
        }
        self.digest = digest(self.digest, &found);
        Ok(())
    }

    /// Checks that a shared counter grows. The sum of mixed answers does not depend on their order.
    fn check_sum(&mut self, line: &str, counter: u64) -> Answer<()> {
        let at = counter as usize;
        let sum: u64 = line.parse().map_err(|_| format!("`{line}` where a number is right"))?;
        if sum <= self.last[at] {
            return Err(format!("shared:{counter} fell from {} to {sum}", self.last[at]));
        }
        (self.last[at], self.added[at]) = (sum, self.added[at] + 1);
        let mut totals = TOTALS.lock();
        totals.digest = totals.digest.wrapping_add(mix(counter << 56 | sum));
        Ok(())
    }

    fn run(&mut self, requests: u64, depth: u64) -> Answer<()> {
        let mut left = requests;
        while left > 0 {
            let batch = depth.min(left);
            left -= batch;
            for _ in 0..batch {
                self.ask();
            }
            let since = Instant::now();
            self.send()?;
            for request in std::mem::take(&mut self.requests) {
                self.check(request)?;
            }
            let mut totals = TOTALS.lock();
            totals.requests += batch;
            totals.batches += 1;
            totals.slowest = totals.slowest.max(since.elapsed());
        }
        let mut totals = TOTALS.lock();
        totals.digest = totals.digest.wrapping_add(mix(self.digest ^ mix(self.index)));
        for (total, added) in totals.added.iter_mut().zip(self.added) {
            *total += added;
        }
        Ok(())
    }
}

/// Returns a value: letters that depend on its key and version, 1 to `LONGEST` of them.
fn value(index: u64, random: u64) -> String {
    let seed = mix(random ^ index << 32);
    let letter = |at: u64| char::from(b'a' + (mix(seed ^ (at / 8)) >> (at % 8 * 8)) as u8 % 26);
    (0..1 + seed % LONGEST).map(letter).collect()
}

/// Checks that nothing was added to the counters but by us, and that no value was evicted.
fn check_end(address: &str) -> Answer<()> {
    let mut client = Client::new(address, u64::MAX)?;
    for counter in 0..COUNTERS {
        client.text = format!("get shared:{counter}\r\n");
        client.send()?;
        let (_, sum, _) = (client.line()?, client.line()?, client.line()?);
        let added = TOTALS.lock().added[counter as usize];
        if sum != added.to_string() {
            return Err(format!("shared:{counter} is {sum} after {added} additions"));
        }
    }
    client.text = "stats\r\n".to_owned();
    client.send()?;
    loop {
        match client.line()?.as_str() {
            "STAT evictions 0" => return Ok(()),
            "END" | "" => return Err("the server evicted values; give it more memory".to_owned()),
            _ => {}
        }
    }
}

fn load(address: &str, connections: u64, requests: u64, depth: u64) -> Answer<()> {
    let clients: Answer<Vec<Client>> =
        (0..connections).map(|at| Client::new(address, at)).collect();
    let barrier = Barrier::new(connections as usize + 1);
    let mut ends = Vec::new();
    let mut since = Instant::now();
    std::thread::scope(|scope| {
        let start = |(mut client, barrier): (Client, _)| {
            scope.spawn(move || {
                Barrier::wait(barrier);
                client.run(requests / connections, depth)
            })
        };
        let threads: Vec<_> = clients?.into_iter().map(|of| start((of, &barrier))).collect();
        barrier.wait();
        since = Instant::now();
        ends.extend(threads.into_iter().map(|thread| thread.join().expect("a client panicked")));
        Ok::<(), String>(())
    })?;
    let seconds = since.elapsed().as_secs_f64();
    ends.into_iter().collect::<Answer<()>>()?;
    check_end(address)?;
    let totals = TOTALS.lock();
    // Each batch, each addition, each connection's end, each counter's end, and this.
    let locked = totals.batches + totals.added.iter().sum::<u64>() + connections + COUNTERS + 1;
    println!(
        "{{\"requests\": {}, \"seconds\": {seconds:.6}, \"rate\": {:.0}, \"slowest_us\": {}, \
         \"locked\": {locked}, \"answers\": \"{:016x}\"}}",
        totals.requests,
        totals.requests as f64 / seconds,
        totals.slowest.as_micros(),
        totals.digest
    );
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: u64| match arguments.get(at) {
        Some(text) => text.parse().ok().filter(|number| *number > 0),
        None => Some(default),
    };
    let (Some(address), Some(connections), Some(requests), Some(depth)) =
        (arguments.first(), number(1, 4), number(2, 100_000), number(3, 1))
    else {
        eprintln!(
            "memcached_load ADDRESS [CONNECTIONS [REQUESTS [DEPTH]]]: an address such as \
             127.0.0.1:11211, and numbers of at least 1"
        );
        return ExitCode::from(2);
    };
    match load(address, connections, requests, depth) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("memcached_load: {error}");
            ExitCode::FAILURE
        }
    }
}
