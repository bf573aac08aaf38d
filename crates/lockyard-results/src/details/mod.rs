//! Details of a row: everything known about it apart from its figure.
//!
//! Details are typed, so a misspelt name does not compile, and reader and writer agree. In JSON
//! they are the row's `detail`, with one object for each source. Unknown values are left out.
//! User-chosen names appear as values (`{"line": "m", ...}`), never as keys.

mod costs;
mod measured;
mod native;
mod range;
mod simulated;

pub use costs::{
    CostsDetail, GainDetail, IdealLocksDetail, LineDetail, LockDetail, TransfersDetail,
};
pub use measured::{
    CountersDetail, CpuTimeDetail, HandoversDetail, LongestWaitDetail, MeasuredDetail, NOT_PINNED,
    PhaseShare, PresenceDetail, RatioDetail,
};
pub use native::{CallPathDetail, SyscallsDetail, TablesDetail};
pub use range::Range;
pub use simulated::{
    EffectDetail, EvidenceDetail, FallbacksDetail, LongRunDetail, RequestsDetail,
    SensitivityDetail, SimulatedDetail, StartOrdersDetail, ThreadOperations,
};

use serde::Serialize;
use serde_json::{Map, Value};

/// Details of a row, by source.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Details {
    /// Local work of an operation.
    pub local_work: Option<LocalWorkDetail>,
    /// Details of the simulated figure.
    pub simulated: Option<SimulatedDetail>,
    /// Details of the measured figure.
    pub measured: Option<MeasuredDetail>,
    /// Ratios to the first row of each pair in which this row is second.
    pub pair_ratios: Vec<PairRatio>,
    /// Scaling law fitted to the row's variant.
    pub law: Option<LawDetail>,
}

impl Details {
    /// Returns details with only the local work, in nanoseconds.
    pub fn of_local_work(ns: f64) -> Details {
        let local_work = Some(LocalWorkDetail { ns, ..LocalWorkDetail::default() });
        Details { local_work, ..Details::default() }
    }

    /// Returns the details of a measured row.
    pub fn of_measured(measured: MeasuredDetail) -> Details {
        Details { measured: Some(measured), ..Details::default() }
    }

    /// Returns the details of a simulated row.
    pub fn of_simulated(simulated: SimulatedDetail) -> Details {
        Details { simulated: Some(simulated), ..Details::default() }
    }

    /// Returns the details as JSON, without unknown values.
    pub fn json(&self) -> Value {
        // This cannot fail: all keys of the details are strings.
        let mut value = serde_json::to_value(self).unwrap_or_default();
        remove_unknown(&mut value);
        if value.is_null() { Value::Object(Map::new()) } else { value }
    }
}

/// Removes null and empty members at any depth. Elements of lists stay, because a null round stands
/// for an infinite figure.
fn remove_unknown(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.values_mut().for_each(remove_unknown);
            members.retain(|_, member| match member {
                Value::Null => false,
                Value::Object(members) => !members.is_empty(),
                Value::Array(elements) => !elements.is_empty(),
                _ => true,
            });
        }
        Value::Array(elements) => {
            elements.iter_mut().filter(|e| e.is_object()).for_each(remove_unknown);
        }
        _ => {}
    }
}

/// Local work of an operation, and how precisely the calibration cell determines it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LocalWorkDetail {
    /// Nanoseconds of local work.
    pub ns: f64,
    /// Relative error of the simulated calibration cell: simulated / published - 1.
    pub calibration_miss: Option<f64>,
    /// Smallest local work tried, in nanoseconds, that matches the calibration cell about as well.
    pub least_ns: Option<f64>,
    /// Greatest local work tried, in nanoseconds, that matches the calibration cell about as well.
    pub greatest_ns: Option<f64>,
}

/// Ratio of a row's figure to the figure of the first row of its pair.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PairRatio {
    /// Variant of the first row.
    pub to: String,
    /// Ratio of the published figures.
    pub published: Option<f64>,
    /// Ratio of the predicted figures.
    pub predicted: Option<f64>,
}

/// Universal Scalability Law fitted to a row's variant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LawDetail {
    /// Operations per second by the law, for the row's number of threads.
    pub throughput: Option<f64>,
    /// Operations per second of a single thread.
    pub lambda: f64,
    /// Contention: the serial share of the work.
    pub sigma: f64,
    /// Coherence: the cost of each pair of threads.
    pub kappa: f64,
    /// Number of threads at which the throughput is highest; `None` if the curve has no peak.
    pub knee: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_not_known_is_left_out() {
        assert_eq!(Details::default().json(), json!({}));
        let rounds = vec![1.0, f64::INFINITY];
        let measured = MeasuredDetail { rounds, ..MeasuredDetail::default() };
        let details = Details { measured: Some(measured), ..Details::of_local_work(2.5) };
        let expected =
            json!({ "local_work": { "ns": 2.5 }, "measured": { "rounds": [1.0, null] } });
        assert_eq!(details.json(), expected);
    }

    #[test]
    fn names_of_objects_are_values() {
        let line = LineDetail { line: "a: b".to_owned(), ..LineDetail::default() };
        let costs = CostsDetail { lines: vec![line], ..CostsDetail::default() };
        let simulated = SimulatedDetail { costs: Some(costs), ..SimulatedDetail::default() };
        let json = Details::of_simulated(simulated).json();
        assert_eq!(json["simulated"]["costs"]["lines"][0]["line"], "a: b");
    }
}
