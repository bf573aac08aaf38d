//! The answer on a recorded program in a few lines, the most important first: where the time goes,
//! where it saturates, what helps, how far to believe it. Facts of the run need no model, so they
//! stand there also without a prediction.

use crate::recorded::{LockToday, RecordedProgram};
use crate::render::si;
use crate::what_if::{Proof, Scaling, WaitsFor, WhatIf};
use lockyard_support::threads as in_words;

/// Share of the threads' time from which waits for locks are the verdict.
const MATTERS: f64 = 0.1;

/// Share of the time without a CPU from which it is a part of the verdict.
const BUSY: f64 = 0.2;

/// Share of a whole from which a part is nearly all of it, and from which it is most of it.
const NEARLY_ALL: f64 = 0.9;
const MOST: f64 = 0.5;

/// Share of the waits from which a second lock is named beside the first.
const BESIDE: f64 = 0.25;

/// Smallest gain that helps.
const LEAST_GAIN: f64 = 0.05;

/// Gain by which a change of all saturated locks must be better than that of one alone.
const LEAST_MORE: f64 = 0.1;

/// Gain from which it is said as a factor.
const LARGE: f64 = 9.0;

/// Name of the machine that is a recording's own host.
const OWN_HOST: &str = "recorded-host";

/// Maximum number of changes that a line names.
const NAMED: usize = 4;

/// Returns a share in per cent, whole ones from 1 on.
fn share(of: f64) -> String {
    match of * 100.0 {
        few if few < 0.95 => lockyard_support::share(of),
        many => format!("{many:.0} %"),
    }
}

impl WaitsFor {
    /// Returns the chain in a sentence.
    pub fn sentence(&self) -> String {
        let by_signal = self.signals_per_s.is_some();
        let end = self.ended_by.first().map_or_else(String::new, |most| {
            let how = if by_signal { "by a signal at" } else { "after" };
            format!("; {} of these waits end {how} {}", share(most.share), most.site)
        });
        let signals = self.signals_per_s.filter(|rate| *rate > 0.0).map_or_else(
            String::new,
            |rate| match self.kind {
                "semaphore" => format!(", given {} a second", si(rate)),
                _ => format!(", signalled {} a second", si(rate)),
            },
        );
        format!(
            "{:.1} of {} wait for {} at {}, {} times a second{signals}{end}.",
            self.threads,
            in_words(self.of_threads),
            self.what(),
            self.site,
            si(self.waits_per_s)
        )
    }

    /// Returns what the threads wait for, in words.
    fn what(&self) -> String {
        match &self.meeting {
            Some(name) if self.kind == "condition" => {
                format!("the condition {name} of {}", self.lock)
            }
            Some(name) => format!("the {} {name}", self.kind),
            None => format!("a condition of {}", self.lock),
        }
    }
}

impl RecordedProgram {
    /// Returns the verdict: where the threads' time goes.
    pub fn verdict(&self) -> String {
        let without = self.today.share_without_cpu;
        let busy = match without >= BUSY {
            true => format!(" For {} of the time they had no CPU.", share(without)),
            false => String::new(),
        };
        self.sentence() + &busy
    }

    fn sentence(&self) -> String {
        let today = &self.today;
        let program = &self.program;
        let mut locks: Vec<&LockToday> = today.locks.iter().collect();
        locks.sort_by(|a, b| b.share_waited.total_cmp(&a.share_waited));
        let waited = today.share_waited;
        let of_conditions: f64 =
            self.waits_for.iter().map(|of| of.threads / of.of_threads.max(1) as f64).sum();
        if let Some(chain) = self.waits_for.first()
            && of_conditions > waited.max(MATTERS)
        {
            let which = match chain.threads / chain.of_threads.max(1) as f64 / of_conditions {
                part if part >= NEARLY_ALL => "nearly all",
                part if part >= MOST => "mostly",
                _ => "first",
            };
            let all_conditions = self.waits_for.iter().all(|of| of.kind == "condition");
            let what = if all_conditions { "waits for conditions" } else { "waits for others" };
            let of = match chain.kind {
                "condition" => format!("that of {}", chain.lock),
                _ => chain.what(),
            };
            return format!(
                "{program}: {} of its threads' time is {what}, {which} for {of} ({}).",
                share(of_conditions.min(1.0)),
                chain.site
            );
        }
        if let Some(first) = locks.first()
            && waited >= MATTERS
        {
            let named = |lock: &LockToday| match &lock.site {
                site if site.is_empty() || lock.lock.contains(site.as_str()) => lock.lock.clone(),
                site => format!("{} ({site})", lock.lock),
            };
            let part = first.share_waited / waited;
            let second = locks.get(1).filter(|lock| lock.share_waited >= BESIDE * waited);
            let which = match (part, second) {
                (part, _) if part >= NEARLY_ALL => format!("nearly all for {}", named(first)),
                (_, Some(second)) => format!("most for {} and {}", named(first), named(second)),
                (part, _) if part >= MOST => format!("most for {}", named(first)),
                (part, _) => format!("{} of it for {}", share(part), named(first)),
            };
            let time = share(waited);
            return format!("{program}: {time} of its threads' time is waiting, {which}.");
        }
        if today.share_asleep >= MOST {
            return format!(
                "{program}: {} of its threads' time is sleep outside of locks; locks take {}.",
                share(today.share_asleep),
                share(today.share_held + waited)
            );
        }
        let under = match today.locks.first() {
            Some(lock) => format!(", {} under {}", share(lock.share_held), lock.lock),
            None => String::new(),
        };
        format!(
            "{program}: locks do not hold it back today: {} of its threads' time is waiting for \
             them{under}.",
            share(waited)
        )
    }

    /// Returns the answer in lines, the verdict first.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.verdict()];
        let mark = self.mark();
        lines.extend(self.waits_for.iter().take(2).map(WaitsFor::sentence));
        lines.extend(self.scaling.iter().map(|of| of.sentence(&self.unit) + mark));
        lines.extend(self.open.iter().map(|of| of.sentence() + mark));
        lines.extend(self.help().map(|line| line + mark));
        lines.extend(self.proof.iter().map(Proof::sentence));
        lines.extend(self.believe());
        if !self.next.is_empty() {
            lines.push(format!("Next: {}.", self.next.join("; ")));
        }
        lines
    }

    /// Returns the predicted gain of a change with a number of threads, on the host if it was
    /// predicted there.
    pub fn gain_of(&self, variant: &str, threads: usize) -> Option<f64> {
        // The largest machine comes first, and the host last.
        let mut all = self.what_if.iter().rev();
        all.find(|of| of.variant == variant && of.threads == threads)?.gain_share
    }

    /// Returns the lines on the changes that help most, if some were predicted.
    fn help(&self) -> Option<String> {
        let first = self.what_if.first()?;
        let on = if self.scaling.len() > 1 { format!(" on {}", first.machine) } else { "".into() };
        let of_cell = |of: &&WhatIf| of.machine == first.machine && of.threads == first.threads;
        let here: Vec<&WhatIf> = self.what_if.iter().filter(of_cell).collect();
        let gain = |of: &WhatIf| of.gain_share.unwrap_or(f64::NEG_INFINITY);
        let largest = |is_one: &dyn Fn(&WhatIf) -> bool| {
            let some = here.iter().copied().filter(|of| of.gain_share.is_some() && is_one(of));
            some.max_by(|a, b| gain(a).total_cmp(&gain(b)))
        };
        let ceiling_of = |locks: usize| largest(&|of| of.is_ceiling && of.locks.len() == locks);
        let [one, all] = [ceiling_of(1), largest(&|of| of.is_ceiling && of.locks.len() > 1)];
        let both = one.zip(all).filter(|(one, all)| gain(all) >= gain(one) + LEAST_MORE);
        // The best change of each kind: of all locks only if one alone gives less.
        let mut kinds: Vec<&str> = Vec::new();
        for of in here.iter().filter(|of| !of.is_ceiling) {
            if !kinds.contains(&kind(&of.variant)) {
                kinds.push(kind(&of.variant));
            }
        }
        let best_of = |name: &&str| {
            let is_kind = |of: &WhatIf| !of.is_ceiling && kind(&of.variant) == *name;
            let one = largest(&|of| is_kind(of) && of.locks.len() < 2);
            let all = largest(&|of| is_kind(of) && of.locks.len() > 1);
            match (one, all) {
                (Some(one), Some(all)) if gain(all) < gain(one) + LEAST_MORE => Some(one),
                (one, all) => all.or(one),
            }
        };
        let mut best: Vec<&WhatIf> = kinds.iter().filter_map(best_of).collect();
        best.sort_by(|a, b| gain(b).total_cmp(&gain(a)));
        let said: Vec<String> = best
            .iter()
            .filter(|of| gain(of) >= LEAST_GAIN)
            .take(NAMED)
            .map(|of| format!("{} {}", of.change, of.gain()))
            .collect();
        let threads = in_words(first.threads);
        let mut line = if said.is_empty() {
            let most = best.first().map(|of| format!("; the most is {} {}", of.change, of.gain()));
            format!("Nothing helps at {threads}{on}{}.", most.unwrap_or_default())
        } else {
            format!("What helps at {threads}{on}: {}.", said.join("; "))
        };
        let helps =
            |best: &WhatIf, most: &WhatIf| gain(best) >= LEAST_GAIN && gain(most) >= gain(best);
        match (both, all.or(one)) {
            (Some((one, all)), _) => line.push_str(&format!(
                " {} must go: one alone gives {} at most, all together {}.",
                match all.locks.as_slice() {
                    [a, b] => format!("Both {a} and {b}"),
                    some => format!("All of {}", some.join(", ")),
                },
                one.gain(),
                all.gain()
            )),
            // Figures that vary may put a change above the ceiling.
            (None, Some(most)) if best.first().is_some_and(|best| helps(best, most)) => {
                line.push_str(&format!(" At most: {} {}.", most.change, most.gain()));
            }
            _ => {}
        }
        Some(line)
    }

    /// Returns the line on how far to believe the prediction.
    fn believe(&self) -> Option<String> {
        if let Some(refusal) = self.refusal() {
            return Some(refusal);
        }
        if let Some(why) = &self.refused {
            return Some(format!("Do not believe it: {why}."));
        }
        if let Some(gate) = self.growth.as_ref().and_then(|growth| growth.gate.as_ref()) {
            return Some(format!("How far to believe it: {}.", gate.words()));
        }
        let gate = self.gate.as_ref()?;
        let error = gate.error_share?;
        Some(format!(
            "How far to believe it: {} again, as recorded: {:+.0} %; what grows with threads was \
             not measured.",
            in_words(gate.threads),
            error * 100.0
        ))
    }
}

impl Proof {
    /// Returns the result in a sentence.
    pub fn sentence(&self) -> String {
        let Proof { change, rounds, measured_low_share, measured_high_share, .. } = self;
        let per_cent = |share: f64| format!("{:+.0} %", share * 100.0);
        let predicted = self
            .predicted_share
            .map_or("not predicted".to_owned(), |share| format!("predicted {}", per_cent(share)));
        let by = match self.by_rate {
            true => "rate that it prints",
            false => "time of its runs, taken as a fixed amount of work",
        };
        format!(
            "Tried here: {change}: {predicted}, measured {} ({}..{} in {rounds} rounds; {by}).",
            per_cent(self.measured_share),
            per_cent(*measured_low_share).trim_end_matches(" %"),
            per_cent(*measured_high_share).trim_end_matches(" %"),
        )
    }
}

impl WhatIf {
    /// Returns the gain with its interval: in per cent, or as a factor if it is large.
    fn gain(&self) -> String {
        let Some(gain) = self.gain_share else { return "unknown".to_owned() };
        let is_factor = gain >= LARGE;
        let shown = |share: f64| match is_factor {
            true => format!("{:.0}", share + 1.0),
            false => format!("{:+.0}", share * 100.0),
        };
        let middle = shown(gain);
        let middle = if is_factor { format!("x {middle}") } else { format!("{middle} %") };
        let interval = self.gain_interval.map(|of| [of.low, of.high].map(shown));
        match interval {
            Some([low, high]) if low != high => format!("{middle} ({low}..{high})"),
            _ => middle,
        }
    }
}

/// Returns the kind of a change: its name without the number of shards or of the lock.
fn kind(variant: &str) -> &str {
    let known = ["hold-halved", "split", "batch", "own-lines", "read-mostly"];
    known.into_iter().find(|kind| variant.starts_with(kind)).unwrap_or(variant)
}

impl Scaling {
    /// Returns the throughput in a sentence.
    pub fn sentence(&self, unit: &str) -> String {
        let Scaling { machine, best_threads, most_threads, .. } = self;
        let on = if machine == OWN_HOST { "its own host" } else { machine };
        let rate = |rate: f64| format!("{} {unit}", si(rate));
        let most = rate(self.most_operations_per_s);
        let Some(at) = self.saturates_at_threads else {
            return format!("On {on} it still gains at {}: {most}.", in_words(*most_threads));
        };
        let middle = (at.low * at.high).sqrt();
        let [low, middle, high] = [at.low, middle, at.high].map(|of| of.round().max(1.0) as usize);
        let range = if low == high { String::new() } else { format!(" ({low}..{high})") };
        let best = rate(self.best_operations_per_s);
        let rest = match most_threads == best_threads {
            true => String::new(),
            false => format!("; {} do {most}", in_words(*most_threads)),
        };
        format!("On {on} it saturates at {}{range}: {best}{rest}.", in_words(middle))
    }
}

#[cfg(test)]
#[path = "answer/tests.rs"]
mod tests;
