"""Sweeps on Ray: two nodes, a worker that is killed, and the bytes of one process."""

import os
import pathlib
import signal
import threading
import time

import pytest

import lockyard
from conftest import PLAN, bytes_of

# Ray then uses 127.0.0.1 as this host's address, also for clusters. It is read at the import.
os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")

ray = pytest.importorskip("ray")

import lockyard.ray  # noqa: E402


@pytest.fixture
def cluster():
    """Two nodes with one CPU each, on the loopback interface."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "node_ip_address": "127.0.0.1", "include_dashboard": False},
    )
    cluster.add_node(num_cpus=1, node_ip_address="127.0.0.1")
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def workers() -> list:
    """Processes that run a batch now."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            name = (entry / "cmdline").read_bytes().split(b"\0")[0].decode()
        except OSError:
            continue
        if name.startswith("ray::_run"):
            found.append(int(entry.name))
    return found


def test_this_host_gives_the_bytes_of_one_process(plan_file, tmp_path):
    told = []
    swept = lockyard.ray.sweep(plan_file, tmp_path / "ray", progress=lambda *d: told.append(d))
    assert swept == (48, 0, 48, 0) and told[-1] == (48, 48)
    assert not ray.is_initialized()
    lockyard.sweep(plan_file, tmp_path / "one", jobs=1)
    assert bytes_of(tmp_path / "ray") == bytes_of(tmp_path / "one")
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"


def test_two_nodes_and_a_killed_worker_lose_nothing(plan_file, tmp_path, cluster, command):
    # Cells that take some milliseconds, so that the sweep is still running at the kill.
    plan_file.write_text(
        PLAN.replace("[1, 2, 4]", "[2, 4, 16]").replace("1-4", "1-12").replace("quick", "full")
    )
    plan = lockyard.plan(plan_file)
    killed = []
    cells = tmp_path / "ray" / "cells"

    def kill():
        end = time.monotonic() + 120
        while time.monotonic() < end:
            done = len(list(cells.iterdir())) if cells.exists() else 0
            if done > len(plan) // 10:
                for worker in workers()[:1]:
                    os.kill(worker, signal.SIGKILL)
                    killed.append((worker, done))
                    return
            time.sleep(0.005)

    ray.init(address=cluster.address, log_to_driver=False)
    assert len([node for node in ray.nodes() if node["Alive"]]) == 2
    killer = threading.Thread(target=kill)
    killer.start()
    swept = lockyard.ray.sweep(plan, tmp_path / "ray", batch=4)
    killer.join()
    [(_, done)] = killed
    assert done < len(plan), "the worker was killed in the middle"
    assert swept == (len(plan), 0, len(plan), 0)
    ways = [bytes_of(tmp_path / "ray")]
    lockyard.sweep(plan, tmp_path / "one", jobs=1)
    for shard in ("1/4", "2/4", "3/4", "4/4"):
        command("sweep", plan_file, "--out", tmp_path / "shards", "--shard", shard)
    ways += [bytes_of(tmp_path / name) for name in ("one", "shards")]
    assert ways[0] == ways[1] == ways[2]


def test_a_sweep_that_ended_early_goes_on(plan_file, tmp_path):
    lockyard.sweep(plan_file, tmp_path / "rows", shard="1/3")
    swept = lockyard.ray.sweep(plan_file, tmp_path / "rows")
    assert swept == (48, 16, 32, 0)


def test_an_error_of_a_worker_keeps_its_class(plan_file, tmp_path, monkeypatch):
    class OtherVersion:
        """The extension, as a driver with another version has it."""

        VERSION = "0.0.1"

        def __getattr__(self, name):
            return getattr(lockyard._lockyard, name)

    monkeypatch.setattr(lockyard.ray, "_lockyard", OtherVersion())
    with pytest.raises(lockyard.LockyardError, match="allowed: one version"):
        lockyard.ray.sweep(plan_file, tmp_path / "rows")
