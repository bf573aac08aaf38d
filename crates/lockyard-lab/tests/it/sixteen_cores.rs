//! A measured host of 16 cores (`hosts/emerald-rapids-16`): the machine derived from its
//! ping-pongs, and the prediction errors on the measured curves.

use lockyard_lab::fit::{self, Fit};
use lockyard_lab::{from_pingpong, standard};
use lockyard_scenarios::LockKinds;

const MEASURED: &str = include_str!("../../../../hosts/emerald-rapids-16/standard.json");
const MACHINE: &str = include_str!("../../../../hosts/emerald-rapids-16/machine.toml");

#[test]
fn the_ping_pongs_of_sixteen_cores_predict_their_curves() {
    let measurements = standard::read("standard.json", MEASURED).expect("it can be read");
    let made = from_pingpong::make_of_host(&measurements, None).expect("it is a host");
    assert_eq!(made.calibrated.file, MACHINE, "the committed file is current");

    let curves = fit::curves("standard.json", MEASURED, &LockKinds::default());
    let curves = curves.expect("the curves are there");
    let found = fit::fit(&curves, &made.calibrated.machine, 2, &|| ()).expect("every run ends");
    let (median, most) =
        Fit::errors(found.rows.iter().filter_map(|row| row.error())).expect("48 rows are scored");
    // docs/evidence/training.md and README.md have these figures.
    assert_eq!(format!("{:.1} % {:.1} %", median * 100.0, most * 100.0), "9.6 % 37.1 %");
    assert_eq!(found.rows.iter().filter(|row| row.predicted.is_some()).count(), 48);
    assert_eq!(found.factor, Some(1.0), "no factor on the latencies fits better");
}
