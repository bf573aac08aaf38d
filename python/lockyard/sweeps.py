"""Sweeps: plans of many cells, directories of rows, and merged files."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Callable, Iterator, NamedTuple, Optional, Union

from . import _lockyard
from .errors import IncompleteError, InputError

if TYPE_CHECKING:
    import pandas
    import pyarrow

Path = Union[str, "os.PathLike[str]"]

#: Called with the number of finished cells and the number of all cells.
Progress = Callable[[int, int], None]

#: Seconds between two calls of a progress function.
_EVERY = 0.2


class Swept(NamedTuple):
    """Result of a sweep."""

    #: Number of cells of the plan or of the shard.
    cells: int
    #: Number of cells whose rows were there.
    present: int
    #: Number of cells that were computed now.
    computed: int
    #: Number of those whose row is an error.
    failed: int


class Plan:
    """The cells of a plan, by number. Make one with :func:`plan`."""

    def __init__(self, native: "_lockyard.Plan") -> None:
        self._native = native

    @property
    def title(self) -> str:
        """The title."""
        return self._native.title

    @property
    def bundle(self) -> str:
        """The plan with all files that it names, as JSON text for another process."""
        return self._native.bundle()

    @property
    def parameters(self) -> dict[str, list[float]]:
        """Values of the parameters, by name."""
        found = json.loads(self._native.parameters())
        return {parameter["name"]: parameter["values"] for parameter in found}

    def __len__(self) -> int:
        return len(self._native)

    def id(self, number: int) -> str:
        """Returns the id of a cell: a hash of its inputs and of the program's version."""
        return self._native.id(number)

    def __getitem__(self, number: int) -> dict[str, Any]:
        """Returns the inputs of a cell."""
        found: dict[str, Any] = json.loads(self._native.inputs(number))
        return found

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[number] for number in range(len(self)))

    def run(self, number: int) -> dict[str, Any]:
        """Runs one cell. Returns its ``inputs``, and its ``row`` or its ``error``."""
        [(_, text)] = self._native.run([number])
        found: dict[str, Any] = json.loads(text)
        return found

    def __repr__(self) -> str:
        return f"<Plan: {self.title}, {len(self)} cells ({self._native.describe()})>"


def plan(source: Path) -> Plan:
    """Reads a plan file. A text with line breaks is the plan itself.

    Raises :class:`InputError` with ``file``, ``line`` and ``column`` if it is wrong.
    """
    text = os.fspath(source)
    if "\n" in text:
        return Plan(_lockyard.Plan.parse(text))
    return Plan(_lockyard.Plan.load(text))


def _as_plan(source: Union[Path, Plan]) -> Plan:
    return source if isinstance(source, Plan) else plan(source)


def _shard(shard: Optional[str]) -> tuple[int, int]:
    if shard is None:
        return (0, 1)
    number, _, of = shard.partition("/")
    if number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of):
        return (int(number) - 1, int(of))
    raise InputError(f'shard is {shard!r}; allowed: "I/N" with I from 1 to N, such as "2/8"')


def print_progress(done: int, cells: int) -> None:
    """Writes the progress to standard error, on one line."""
    end = "\n" if done == cells else ""
    print(f"\r{done} of {cells} cells", end=end, file=sys.stderr, flush=True)


def sweep(
    source: Union[Path, Plan],
    out: Path,
    *,
    shard: Optional[str] = None,
    jobs: Optional[int] = None,
    progress: Optional[Progress] = None,
) -> Swept:
    """Runs the cells of a plan in this process, and writes a file for each into ``out``.

    Rows that are there are not computed again. ``shard`` is a part, such as ``"2/8"``.
    """
    found = _as_plan(source)
    index, of = _shard(shard)
    ended = threading.Event()
    cells = (len(found) - index + of - 1) // of

    def watch() -> None:
        while progress is not None and not ended.wait(_EVERY):
            progress(found._native.done(), cells)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        result = found._native.sweep(os.fspath(out), index, of, jobs)
    finally:
        ended.set()
        watcher.join()
    if progress is not None:
        progress(cells, cells)
    return Swept(*result)


class Merged:
    """The rows of a sweep, in the order of its plan."""

    def __init__(self, content: dict[str, Any]) -> None:
        self.title: str = content["title"]
        self.program: str = content["program"]
        #: One dictionary for each cell: ``id``, ``number``, ``inputs``, and ``row`` or ``error``.
        self.cells: list[dict[str, Any]] = content["cells"]

    def __len__(self) -> int:
        return len(self.cells)

    def _records(self) -> list[dict[str, Any]]:
        return [_record(cell) for cell in self.cells]

    def to_pandas(self) -> "pandas.DataFrame":
        """Returns a frame with one line for each cell. It needs pandas."""
        import pandas

        return pandas.DataFrame.from_records(self._records())

    def to_arrow(self) -> "pyarrow.Table":
        """Returns an Arrow table with one line for each cell. It needs pyarrow."""
        import pyarrow

        return pyarrow.Table.from_pylist(self._records())


def _record(cell: dict[str, Any]) -> dict[str, Any]:
    """Returns a cell as one flat dictionary, with the columns of the CSV file."""
    inputs, row = cell["inputs"], cell.get("row", {})
    record: dict[str, Any] = {"id": cell["id"], "number": cell["number"]}
    for name in ("scenario", "variant", "machine", "threads", "seed", "placement"):
        record[name] = inputs.get(name)
    record.update({name: float(value) for name, value in inputs["parameters"].items()})
    for name in ("metric", "unit", "predicted", "published", "throughput"):
        record[name] = row.get(name)
    for name in ("range", "interval"):
        for end in ("low", "high"):
            record[f"{name}_{end}"] = row.get(name, {}).get(end)
    for name in ("minimum", "maximum", "jain"):
        record[f"fairness_{name}"] = row.get("fairness", {}).get(name)
    for name in ("p50", "p90", "p99", "p999", "maximum"):
        record[f"wait_{name}_ns"] = row.get("waits", {}).get(f"{name}_ns")
    for name in ("dominating_cost", "bottleneck_lock", "share_lock_held"):
        record[name] = row.get(name)
    record["error"] = cell.get("error")
    return record


def merge(directory: Path, out: Optional[Path] = None, *, allow_missing: bool = False) -> Merged:
    """Joins the rows of a directory. ``out`` is a file for them: ``*.json``, ``*.csv`` or
    ``*.parquet`` (which needs pyarrow). It is replaced if it exists.

    Raises :class:`IncompleteError` if rows are missing or damaged, unless ``allow_missing``.
    """
    directory = os.fspath(directory)
    target = None if out is None else os.fspath(out)
    kind = "json" if target is None else os.path.splitext(target)[1].lstrip(".")
    if kind not in ("json", "csv", "parquet"):
        raise InputError(f"{target}: the name gives no format; allowed: *.json, *.csv, *.parquet")
    own = f".merge-{os.getpid()}-{threading.get_ident()}-{time.monotonic_ns()}"
    temporary = os.path.join(directory, own)
    try:
        state = json.loads(_lockyard.merge(directory, temporary, False))
        if not allow_missing and state["present"] < state["cells"]:
            named = "; ".join(state["named"])
            gone = state["cells"] - state["present"]
            raise IncompleteError(f"{gone} of {state['cells']} cells are not there: {named}")
        with open(temporary, encoding="utf-8") as file:
            merged = Merged(json.load(file))
        if target is not None:
            if kind == "csv":
                _lockyard.merge(directory, temporary, True)
            elif kind == "parquet":
                import pyarrow.parquet

                pyarrow.parquet.write_table(merged.to_arrow(), temporary)
            _replace(temporary, target)
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)
    return merged


def _replace(temporary: str, target: str) -> None:
    """Gives a complete file its name, on another file system too."""
    import shutil

    beside = f"{target}.{os.getpid()}.partial"
    shutil.copyfile(temporary, beside)
    os.replace(beside, target)
