"""Sweeps on Ray: the same code on a laptop and on a cluster.

Tasks are batches of cells, because Ray needs about a millisecond for a task. The driver writes the
rows as they arrive, so workers need neither the plan's files nor a shared file system. Rows are the
same bytes as those of :func:`lockyard.sweep`, and a sweep that ends early goes on by the same call.
"""

from __future__ import annotations

import os
import time
from typing import Any, Iterator, Optional, Union

# Read by Ray when it is imported. It sends no usage statistics.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import ray  # noqa: E402

from . import _lockyard  # noqa: E402
from .errors import LockyardError, SimulationError  # noqa: E402
from .sweeps import Path, Plan, Progress, Swept, _as_plan, print_progress  # noqa: E402

#: Seconds that a batch should take.
_BATCH_SECONDS = 0.25

#: Maximum number of cells in a batch.
_MOST_IN_A_BATCH = 1000

#: Number of batches in progress for each CPU: one that runs, and one that waits.
_AHEAD = 2

#: Number of times that a batch is tried again after its worker or its node was lost.
_RETRIES = 10

#: Seconds between two calls of a progress function.
_EVERY = 0.2

#: Plans that this worker has read, by the text of their bundles. The last one is kept.
_plans: dict[str, "_lockyard.Plan"] = {}


def _run(bundle: str, program: str, numbers: list[int]) -> tuple[float, list[tuple[str, str]]]:
    """Runs a batch of cells on a worker. Returns its seconds, and the id and text of each cell."""
    if _lockyard.VERSION != program:
        raise LockyardError(
            f"a worker has lockyard {_lockyard.VERSION}, and the driver has {program}; "
            "allowed: one version"
        )
    if bundle not in _plans:
        _plans.clear()
        _plans[bundle] = _lockyard.Plan.of_bundle(bundle)
    began = time.perf_counter()
    rows = _plans[bundle].run(numbers)
    return time.perf_counter() - began, rows


def _begin(address: Optional[str]) -> bool:
    """Connects to a cluster, or starts Ray on this host. Returns true if this call did it."""
    if ray.is_initialized():
        return False
    options: dict[str, Any] = {"address": address, "log_to_driver": False}
    if address is None:
        # A new cluster on this host, never one that happens to run. The ports of its nodes are on
        # the loopback interface.
        options.update(address="local", include_dashboard=False, _node_ip_address="127.0.0.1")
    ray.init(**options)
    return True


def sweep(
    source: Union[Path, Plan],
    out: Path,
    *,
    address: Optional[str] = None,
    batch: Optional[int] = None,
    progress: Union[None, bool, Progress] = None,
) -> Swept:
    """Runs the cells of a plan as Ray tasks, and writes a file for each into ``out``.

    ``address`` is that of a cluster; without it, Ray runs on this host's CPUs. If Ray is
    initialised already, that cluster is used. ``batch`` is the number of cells of a task; without
    it, a task takes about a quarter of a second. ``progress`` is a function, or ``True`` for a line
    on standard error. A batch whose worker dies is run again, on another one.
    """
    plan = _as_plan(source)
    began = _begin(address)
    try:
        told = print_progress if progress is True else progress or None
        return _sweep(plan, os.fspath(out), batch, told)
    finally:
        if began:
            ray.shutdown()


class _Batches:
    """Numbers of cells whose rows are absent, in batches of a length that adapts."""

    def __init__(self, plan: Plan, store: "_lockyard.Store", batch: Optional[int]) -> None:
        self.present = 0
        self.length = batch or 1
        self._adapts = batch is None
        self._numbers = self._absent(plan, store)

    def _absent(self, plan: Plan, store: "_lockyard.Store") -> Iterator[int]:
        for number in range(len(plan)):
            if store.has(plan.id(number)):
                self.present += 1
            else:
                yield number

    def next(self) -> list[int]:
        """Returns the next batch; empty at the end."""
        numbers: list[int] = []
        while len(numbers) < self.length:
            number = next(self._numbers, None)
            if number is None:
                break
            numbers.append(number)
        return numbers

    def took(self, cells: int, seconds: float) -> None:
        """Adapts the length to the time that a batch took."""
        if self._adapts and cells > 0:
            wanted = _BATCH_SECONDS * cells / max(seconds, 1e-6)
            # At most twice as long, because cells differ.
            self.length = max(1, min(int(wanted), 2 * self.length, _MOST_IN_A_BATCH))


def _sweep(plan: Plan, out: str, batch: Optional[int], progress: Optional[Progress]) -> Swept:
    store = _lockyard.Store(out, plan._native)
    batches = _Batches(plan, store, batch)
    task = ray.remote(max_retries=_RETRIES)(_run)
    bundle = ray.put(plan.bundle)
    running: dict[Any, int] = {}
    computed = failed = 0
    told = time.monotonic()
    while True:
        slots = max(1, _cpus()) * _AHEAD
        while len(running) < slots:
            numbers = batches.next()
            if not numbers:
                break
            running[task.remote(bundle, _lockyard.VERSION, numbers)] = len(numbers)
        if not running:
            break
        ready, _ = ray.wait(list(running), num_returns=1, timeout=_EVERY)
        for reference in ready:
            cells = running.pop(reference)
            seconds, rows = _get(reference)
            batches.took(cells, seconds)
            for id, text in rows:
                store.write(id, text)
                computed += 1
                failed += '"error":' in text and '"row":' not in text
            if len(rows) < cells:
                raise SimulationError("a worker was interrupted; the same call goes on")
        if progress is not None and time.monotonic() - told > _EVERY:
            told = time.monotonic()
            progress(batches.present + computed, len(plan))
    if progress is not None:
        progress(len(plan), len(plan))
    return Swept(len(plan), batches.present, computed, failed)


def _cpus() -> int:
    """Returns the number of CPUs of the cluster, which may change."""
    untyped: Any = ray
    return int(untyped.cluster_resources().get("CPU", 1))


def _get(reference: Any) -> tuple[float, list[tuple[str, str]]]:
    """Returns the result of a batch. An exception of this package keeps its class."""
    try:
        found: tuple[float, list[tuple[str, str]]] = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, LockyardError):
            raise error.cause from error
        raise
    except ray.exceptions.RayError as error:
        raise SimulationError(f"a batch failed {_RETRIES + 1} times: {error}") from error
    return found
