"""Plans, sweeps and merged files."""

import json
import pathlib

import pytest

import lockyard
from conftest import PLAN, SCENARIO, bytes_of


def test_a_plan_has_cells_by_number(plan_file):
    plan = lockyard.plan(plan_file)
    assert len(plan) == 48 and plan.title == "small"
    assert plan.parameters == {"steps.held.ns": [50, 100]}
    assert plan[0] == {
        "scenario": "s",
        "variant": "queued",
        "machine": "zen4-7840u",
        "threads": 1,
        "seed": 1,
        "runs": "quick",
        "parameters": {"steps.held.ns": 50},
    }
    assert len({plan.id(number) for number in range(len(plan))}) == 48
    assert len(list(plan)) == 48
    row = plan.run(5)
    assert row["id"] == plan.id(5) and row["row"]["predicted"] > 0
    with pytest.raises(IndexError, match="allowed: 0 to 47"):
        plan[48]


def test_a_wrong_plan_has_a_place(plan_file):
    plan_file.write_text(PLAN.replace("zen4", "zen5"))
    with pytest.raises(lockyard.InputError, match="there is no machine") as error:
        lockyard.plan(plan_file)
    assert (error.value.line, error.value.column) == (5, 12)


def test_shards_are_the_bytes_of_one_process(plan_file, tmp_path):
    plan = lockyard.plan(plan_file)
    told = []
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    swept = lockyard.sweep(plan, whole, progress=lambda *done: told.append(done))
    assert swept == (48, 0, 48, 0) and told[-1] == (48, 48)
    for shard in ("3/4", "1/4", "4/4", "2/4"):
        assert lockyard.sweep(plan_file, parts, shard=shard).computed == 12
    assert bytes_of(whole) == bytes_of(parts)
    assert lockyard.sweep(plan, parts) == (48, 48, 0, 0)
    for shard in ("0/4", "5/4", "x", "1"):
        with pytest.raises(lockyard.InputError, match='such as "2/8"'):
            lockyard.sweep(plan, parts, shard=shard)


def test_rows_are_those_of_the_command(plan_file, tmp_path, command):
    here, there = tmp_path / "here", tmp_path / "there"
    lockyard.sweep(plan_file, here)
    command("sweep", plan_file, "--out", there)
    assert bytes_of(here) == bytes_of(there)
    command("merge", there, "--out", tmp_path / "there.json")
    lockyard.merge(here, tmp_path / "here.json")
    assert (tmp_path / "here.json").read_bytes() == (tmp_path / "there.json").read_bytes()


def test_merged_rows_are_files_and_frames(plan_file, tmp_path):
    pandas = pytest.importorskip("pandas")
    parquet = pytest.importorskip("pyarrow.parquet")
    lockyard.sweep(plan_file, tmp_path / "rows")
    merged = lockyard.merge(tmp_path / "rows", tmp_path / "rows.parquet")
    assert len(merged) == 48 and merged.program == lockyard.__version__
    frame = merged.to_pandas()
    assert parquet.read_table(tmp_path / "rows.parquet").num_rows == 48
    lockyard.merge(tmp_path / "rows", tmp_path / "rows.csv")
    of_file = pandas.read_csv(tmp_path / "rows.csv", float_precision="round_trip")
    assert list(of_file.columns) == list(frame.columns)
    assert list(of_file["predicted"]) == list(frame["predicted"])
    assert list(of_file["id"]) == list(frame["id"])
    lockyard.merge(tmp_path / "rows", tmp_path / "rows.json")
    content = json.loads((tmp_path / "rows.json").read_text())
    assert content["cells"] == merged.cells
    left = sorted(path.name for path in (tmp_path / "rows").iterdir())
    assert left == ["cells", "plan.json"], "no temporary file is left"
    with pytest.raises(lockyard.InputError, match="allowed: "):
        lockyard.merge(tmp_path / "rows", tmp_path / "rows.txt")


def test_missing_rows_are_named(plan_file, tmp_path):
    lockyard.sweep(plan_file, tmp_path / "rows", shard="1/2")
    with pytest.raises(lockyard.IncompleteError, match="24 of 48 cells are not there: cell 1 "):
        lockyard.merge(tmp_path / "rows")
    assert len(lockyard.merge(tmp_path / "rows", allow_missing=True)) == 24
    with pytest.raises(lockyard.InputError, match="is not the directory of a sweep"):
        lockyard.merge(tmp_path / "none")


def test_a_cell_that_fails_is_a_row(tmp_path: pathlib.Path):
    (tmp_path / "s.toml").write_text(SCENARIO)
    path = tmp_path / "plan.toml"
    path.write_text(PLAN.replace('["queued", "ticket"]', '["stalls", "queued"]'))
    swept = lockyard.sweep(path, tmp_path / "rows")
    assert swept.computed == 48 and 0 < swept.failed <= 24
    failed = [cell for cell in lockyard.merge(tmp_path / "rows").cells if "error" in cell]
    assert len(failed) == swept.failed
    assert {cell["inputs"]["variant"] for cell in failed} == {"stalls"}
