"""Exceptions. Their messages are those of the command."""

from __future__ import annotations

import re
from typing import Optional

_PLACE = re.compile(r"^(?P<file>[^\n:]+):(?P<line>\d+)(?::(?P<column>\d+))?: ")


class LockyardError(Exception):
    """Any error of this package."""


class InputError(LockyardError, ValueError):
    """Wrong input: one line with the place, the error, and the allowed values.

    ``file``, ``line`` and ``column`` are ``None`` if the error is in no file, or if its position
    is not known.
    """

    file: Optional[str]
    line: Optional[int]
    column: Optional[int]

    def __init__(self, message: str) -> None:
        super().__init__(message)
        found = _PLACE.match(message)
        self.file = found["file"] if found else None
        self.line = int(found["line"]) if found else None
        self.column = int(found["column"]) if found and found["column"] else None


class SimulationError(LockyardError, RuntimeError):
    """A run failed, or its result cannot be written."""


class IncompleteError(LockyardError, RuntimeError):
    """Rows of a sweep are missing or damaged."""
