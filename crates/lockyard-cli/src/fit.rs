//! `lockyard fit`.

use crate::arguments::FitData;
use crate::errors::Failure;
use crate::screen::screen;
use crate::{output, progress};
use lockyard_lab::fit;
use lockyard_predict::names;
use lockyard_results::render::Extent;
use lockyard_scenarios::LockKinds;

pub(crate) fn run(options: &FitData, locks: &LockKinds) -> Result<(), Failure> {
    let machine = names::machine(&options.machine)?;
    let text = lockyard_support::read_text(&options.data, fit::MAX_BYTES, "data are CSV or JSON");
    let origin = lockyard_support::printable(&options.data.display().to_string());
    let curves = fit::curves(&origin, &text.map_err(Failure::Input)?, locks);
    let curves = curves.map_err(Failure::Input)?;
    let cells = fit::cells(&curves, &machine);
    if cells == 0 {
        let (name, most) = (machine.name(), machine.hardware_threads());
        return Err(Failure::Input(format!(
            "{origin}: no row can be scored on `{name}`, which has {most} hardware threads"
        )));
    }
    let bar = progress::bar(cells, "cells simulated");
    let found = fit::fit(&curves, &machine, options.common.jobs(), &|| bar.inc(1));
    bar.finish_and_clear();
    let found = found.map_err(Failure::Run)?;
    let interrupted = output::end_work();
    output::write(&fit::render(&found, &machine, options.common.output.format.into(), &screen()))?;
    let extent = Extent { finished: found.finished, asked: found.asked, things: "cells" };
    output::result(None, interrupted, extent)
}
