"""Results: mappings with rows, which pandas and Arrow can read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, Mapping

if TYPE_CHECKING:
    import pandas
    import pyarrow

#: Members of a row that are columns of their own.
_COLUMNS = (
    "experiment",
    "machine",
    "variant",
    "threads",
    "metric",
    "unit",
    "predicted",
    "published",
    "error",
    "measured",
    "ci_low",
    "ci_high",
    "status",
)


def _at(row: Mapping[str, Any], *path: str) -> Any:
    """Returns a member of a member; ``None`` if there is none."""
    found: Any = row
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


class _Rows(Mapping[str, Any]):
    """A result as a mapping. ``rows`` has one dictionary for each cell."""

    def __init__(self, content: dict[str, Any]) -> None:
        self._content = content

    def __getitem__(self, name: str) -> Any:
        return self._content[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._content)

    def __len__(self) -> int:
        return len(self._content)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One dictionary for each cell, as in the command's JSON."""
        found: list[dict[str, Any]] = self._content["rows"]
        return found

    def _records(self) -> list[dict[str, Any]]:
        records = []
        for row in self.rows:
            record = {name: row.get(name) for name in _COLUMNS}
            record["predicted_low"] = _at(row, "detail", "simulated", "interval", "low")
            record["predicted_high"] = _at(row, "detail", "simulated", "interval", "high")
            kind = "simulated" if row.get("predicted") is not None else "measured"
            record["fairness"] = _at(row, "detail", kind, "fairness", "jain")
            for name in ("p50", "p90", "p99"):
                record[f"wait_{name}_ns"] = _at(row, "detail", kind, "waits", f"{name}_ns")
            records.append(record)
        return records

    def to_pandas(self) -> "pandas.DataFrame":
        """Returns a frame with one line for each row. It needs pandas."""
        import pandas

        return pandas.DataFrame.from_records(self._records())

    def to_arrow(self) -> "pyarrow.Table":
        """Returns an Arrow table with one line for each row. It needs pyarrow."""
        import pyarrow

        return pyarrow.Table.from_pylist(self._records())


class Explanation(Mapping[str, Any]):
    """Why predictions are what they are. ``print`` shows tables for people."""

    def __init__(self, cells: list[dict[str, Any]], legend: str) -> None:
        self.cells = cells
        self.legend = legend

    def __getitem__(self, name: str) -> Any:
        return {"cells": self.cells, "legend": self.legend}[name]

    def __iter__(self) -> Iterator[str]:
        return iter(("cells", "legend"))

    def __len__(self) -> int:
        return 2

    def __str__(self) -> str:
        return "\n".join([cell["text"] for cell in self.cells] + [self.legend])


class Prediction(_Rows):
    """Predicted cells of one scenario on one machine."""

    @property
    def explanation(self) -> Explanation:
        """The explanation of each row."""
        return Explanation(self["explanations"], self["legend"])

    def __repr__(self) -> str:
        return f"<Prediction: {self['scenario']} on {self['machine']}, {len(self.rows)} rows>"


class Measurement(_Rows):
    """Measured cells of one scenario on this host."""

    def __repr__(self) -> str:
        return f"<Measurement: {self['scenario']}, {len(self.rows)} rows>"
