"""Predicts how locks scale, on simulated machines.

>>> import lockyard
>>> found = lockyard.predict("fstat2", "cascade-lake-2s24c2t", [1, 24], variants=["lockref"])
>>> [row["threads"] for row in found.rows]
[1, 24]

Work runs without the interpreter's lock. Ctrl-C ends it within a second.
"""

from __future__ import annotations

import json
import os
from typing import Any, Mapping, Optional, Sequence, Union

from . import _lockyard
from .errors import IncompleteError, InputError, LockyardError, SimulationError
from .results import Explanation, Measurement, Prediction
from .sweeps import Merged, Plan, Swept, merge, plan, sweep

__version__: str = _lockyard.VERSION

__all__ = [
    "Explanation",
    "IncompleteError",
    "InputError",
    "LockyardError",
    "Measurement",
    "Merged",
    "Plan",
    "Prediction",
    "SimulationError",
    "Swept",
    "explain",
    "machines",
    "measure",
    "merge",
    "plan",
    "predict",
    "scenarios",
    "sweep",
]

#: A name, a path, or the text of a scenario.
Scenario = Union[str, "os.PathLike[str]"]
Machine = Union[str, "os.PathLike[str]"]
Parameters = Mapping[str, float]


def _changes(parameters: Optional[Parameters]) -> list[tuple[str, float]]:
    """Returns changes as the extension takes them."""
    changes = [(name, float(value)) for name, value in (parameters or {}).items()]
    for name, _ in changes:
        if name.split(".")[0] not in ("machine", "steps", "objects"):
            raise InputError(
                f"parameters: there is no `{name}`; it begins with one of: machine, steps, objects"
            )
    return changes


def _names(names: Union[None, str, Sequence[str]]) -> list[str]:
    if names is None:
        return []
    return [names] if isinstance(names, str) else list(names)


def _threads(threads: Union[int, Sequence[int]]) -> list[int]:
    numbers = [threads] if isinstance(threads, int) else list(threads)
    for number in numbers:
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            raise InputError(f"threads has {number!r}; allowed: whole numbers from 1")
    return numbers


def _runs(runs: str) -> bool:
    if runs not in ("full", "quick"):
        raise InputError(f'runs is {runs!r}; allowed: "full", "quick"')
    return runs == "quick"


def predict(
    scenario: Scenario,
    machine: Machine,
    threads: Union[int, Sequence[int]],
    *,
    variants: Union[None, str, Sequence[str]] = None,
    placement: Optional[str] = None,
    parameters: Optional[Parameters] = None,
    seed: Optional[int] = None,
    runs: str = "full",
    intervals: bool = True,
    sensitivity: bool = False,
    jobs: Optional[int] = None,
) -> Prediction:
    """Predicts the cells of a scenario on a simulated machine.

    ``scenario`` is a name, a path, or the text of a script. ``parameters`` changes numbers, by
    their names in plans: ``{"steps.work.ns": 300, "machine.cycles.leg": 25}``. With ``seed``, each
    cell has one run, and no interval. ``jobs`` cells are simulated at the same time (one for each
    CPU if ``None``).

    Raises :class:`InputError` if the input is wrong, :class:`SimulationError` if a run fails.
    """
    text = _lockyard.predict(
        os.fspath(scenario),
        os.fspath(machine),
        _threads(threads),
        _names(variants),
        placement,
        _changes(parameters),
        seed,
        _runs(runs),
        intervals,
        sensitivity,
        jobs,
    )
    return Prediction(json.loads(text))


def explain(
    scenario: Scenario,
    machine: Machine,
    threads: Union[int, Sequence[int]],
    *,
    variants: Union[None, str, Sequence[str]] = None,
    placement: Optional[str] = None,
    parameters: Optional[Parameters] = None,
    jobs: Optional[int] = None,
) -> Explanation:
    """Explains the predictions of :func:`predict`: cycles by phase, lock and line, and the cost
    that dominates. ``print`` shows the tables of ``lockyard predict --explain``."""
    found = predict(
        scenario,
        machine,
        threads,
        variants=variants,
        placement=placement,
        parameters=parameters,
        intervals=False,
        jobs=jobs,
    )
    return found.explanation


def measure(
    scenario: Scenario,
    threads: Union[int, Sequence[int]],
    *,
    variants: Union[None, str, Sequence[str]] = None,
    placement: Optional[str] = None,
    parameters: Optional[Parameters] = None,
    seconds: float = 0.2,
    repeats: int = 10,
) -> Measurement:
    """Measures the cells of a scenario on this host, with ``repeats`` rounds of ``seconds``."""
    changes = _changes(parameters)
    for name, _ in changes:
        if name.startswith("machine."):
            raise InputError(f"parameters: `{name}` is of a simulated machine, not of this host")
    text = _lockyard.measure(
        os.fspath(scenario),
        _threads(threads),
        _names(variants),
        placement,
        changes,
        seconds,
        repeats,
    )
    return Measurement(json.loads(text))


def machines() -> list[dict[str, Any]]:
    """Returns the shipped machines: name, title, sizes, and every number of their files."""
    found: list[dict[str, Any]] = json.loads(_lockyard.machines())
    return found


def scenarios() -> list[dict[str, Any]]:
    """Returns the shipped scenarios: name, title, metric, variants, and the text."""
    found: list[dict[str, Any]] = json.loads(_lockyard.scenarios())
    return found
