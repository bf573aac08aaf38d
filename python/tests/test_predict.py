"""Predictions, explanations, measurements, and the errors of wrong input."""

import doctest
import pathlib
import signal
import subprocess
import sys
import threading
import time

import pytest

import lockyard
from conftest import SCENARIO

MACHINE = "cascade-lake-2s24c2t"


def test_a_prediction_is_a_mapping_with_rows():
    found = lockyard.predict("fstat2", MACHINE, [1, 4], variants=["lockref"])
    assert found["scenario"] == "fstat2" and found["machine"] == MACHINE
    assert dict(found)["rows"] == found.rows
    assert [row["threads"] for row in found.rows] == [1, 4]
    first = found.rows[0]
    assert first["status"] == "calibration"
    assert first["predicted"] == pytest.approx(first["published"], rel=0.01)
    low_high = found.rows[1]["detail"]["simulated"]["interval"]
    assert low_high["low"] < found.rows[1]["predicted"] < low_high["high"]


def test_rows_are_frames_and_arrow_tables():
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    found = lockyard.predict("page-ref", "zen4-7840u", [1, 2])
    frame = found.to_pandas()
    assert list(frame["threads"].unique()) == [1, 2]
    assert list(frame["predicted"]) == [row["predicted"] for row in found.rows]
    table = found.to_arrow()
    assert table.num_rows == len(found.rows)
    assert table.column("wait_p50_ns").null_count < table.num_rows


def test_parameters_and_seeds_change_the_cell():
    of = lambda **more: lockyard.predict(
        SCENARIO, "zen4-7840u", 2, variants="queued", runs="quick", **more
    ).rows[0]["predicted"]
    assert of(parameters={"steps.held.ns": 1000}) < of(parameters={"steps.held.ns": 10})
    assert of(parameters={"machine.cycles.leg": 100}) < of(parameters={"machine.cycles.leg": 5})
    seeds = [of(seed=seed) for seed in (1, 2, 3)]
    assert len(set(seeds)) > 1
    assert sum(seeds) / 3 == pytest.approx(of(), rel=1e-12)


def test_the_same_call_gives_the_same_figures():
    of = lambda jobs: dict(lockyard.predict("page-ref", "zen4-7840u", [1, 2, 8], jobs=jobs))
    assert of(1) == of(2)


def test_an_explanation_is_for_people_and_for_programs():
    found = lockyard.explain("fstat2", MACHINE, 24, variants="lockref")
    assert "lockref, 24 threads" in str(found) and found["legend"] in str(found)
    [cell] = found.cells
    assert cell["sentence"] and 0 < sum(cell["costs"]["share"].values()) <= 1.001


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: lockyard.predict("fsatt2", MACHINE, 1), "did you mean `fstat2`?"),
        (lambda: lockyard.predict("fstat2", "zen5", 1), "there is no machine `zen5`"),
        (lambda: lockyard.predict("fstat2", MACHINE, 97), "allowed: 1 to 96"),
        (lambda: lockyard.predict("fstat2", MACHINE, [1, 0]), "whole numbers from 1"),
        (lambda: lockyard.predict("fstat2", MACHINE, []), "one or more"),
        (lambda: lockyard.predict("fstat2", MACHINE, 1, variants="lockreff"), "`lockref`"),
        (lambda: lockyard.predict("fstat2", MACHINE, 1, runs="fast"), 'allowed: "full", "quick"'),
        (lambda: lockyard.predict("fstat2", MACHINE, 1, placement="up"), "not a placement"),
        (
            lambda: lockyard.predict("fstat2", MACHINE, 1, parameters={"cycles.leg": 1}),
            "it begins with one of: machine, steps, objects",
        ),
        (
            lambda: lockyard.predict("fstat2", MACHINE, 1, parameters={"machine.cycles.leg": 0}),
            "allowed: 1 to 1000",
        ),
        (lambda: lockyard.measure("page-ref", 1, seconds=0), "allowed: 0.001 to 3600"),
        (
            lambda: lockyard.measure("page-ref", 1, parameters={"machine.clock.ghz": 2}),
            "not of this host",
        ),
    ],
)
def test_wrong_input_is_an_exception_with_what_is_allowed(call, message):
    with pytest.raises(lockyard.InputError) as error:
        call()
    assert message in str(error.value) and "\n" not in str(error.value)
    assert isinstance(error.value, ValueError)


def test_an_error_in_a_file_has_its_place(tmp_path: pathlib.Path):
    path = tmp_path / "s.toml"
    path.write_text(SCENARIO.replace('lock = "queued"', 'lock = "quued"'))
    with pytest.raises(lockyard.InputError) as error:
        lockyard.predict(path, MACHINE, 1)
    assert (error.value.file, error.value.line) == (str(path), 6)
    with pytest.raises(lockyard.InputError) as error:
        lockyard.plan(SCENARIO)
    assert (error.value.file, error.value.line, error.value.column) == ("plan", 2, 1)


def test_a_run_that_fails_is_an_exception():
    with pytest.raises(lockyard.SimulationError, match="s, stalls: "):
        lockyard.predict(SCENARIO, "zen4-7840u", 2, variants="stalls", intervals=False)


def test_machines_and_scenarios_are_listed():
    [machine] = [one for one in lockyard.machines() if one["name"] == MACHINE]
    assert machine["hardware_threads"] == 96 and machine["numbers"]["topology.sockets"] == 2
    [scenario] = [one for one in lockyard.scenarios() if one["name"] == "fstat2"]
    assert "lockref" in scenario["variants"] and "[[steps]]" in scenario["text"]


def test_this_host_is_measured():
    found = lockyard.measure("page-ref", 1, variants="xadd", seconds=0.01, repeats=3)
    [row] = found.rows
    assert row["measured"] > 0 and row["ci_low"] <= row["measured"] <= row["ci_high"]
    assert found["environment"]


def test_other_threads_run_meanwhile():
    counts = []
    ended = threading.Event()

    def count():
        number = 0
        while not ended.is_set():
            number += 1
            time.sleep(0.001)
        counts.append(number)

    thread = threading.Thread(target=count)
    thread.start()
    began = time.monotonic()
    lockyard.predict("fstat2", MACHINE, [24, 48], variants="lockref", jobs=1)
    seconds = time.monotonic() - began
    ended.set()
    thread.join()
    # If the interpreter's lock were held, the thread would have counted a few.
    assert counts[0] > 20 * seconds


def test_ctrl_c_ends_the_work_and_the_next_call_works():
    program = f"""
import lockyard, signal
try:
    print("begin", flush=True)
    lockyard.predict("fstat2", "{MACHINE}", list(range(1, 97)), jobs=1)
except KeyboardInterrupt:
    print("interrupted", flush=True)
print(len(lockyard.predict("page-ref", "zen4-7840u", 1, variants="xadd").rows))
"""
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "begin\n"
    time.sleep(1.0)
    child.send_signal(signal.SIGINT)
    output, _ = child.communicate(timeout=60)
    assert output == "interrupted\n1\n"


def test_the_example_of_the_package_is_right():
    assert doctest.testmod(lockyard).failed == 0
