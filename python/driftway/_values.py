"""Values of Python as those of a scenario file."""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any

#: A value of a key: text such as ``"1 Mbit/s"``, a number, a truth value, or a table or an array of them.
Value = str | int | float | bool | Mapping[str, "Value"] | Sequence["Value"]


def to_text(key: str, value: object) -> str:
    """Write a value as on the command line, where a text needs no quotes."""
    return value if isinstance(value, str) else _to_toml(key, value)


def _to_toml(key: str, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # A basic string of TOML is one of JSON, but for the DEL character.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        entries = (f"{json.dumps(str(k))} = {_to_toml(key, v)}" for k, v in value.items())
        return "{ " + ", ".join(entries) + " }"
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return "[" + ", ".join(_to_toml(key, v) for v in value) + "]"
    # Numbers of numpy convert to those of Python.
    if hasattr(value, "__index__"):
        return str(value.__index__())
    if hasattr(value, "__float__"):
        return repr(float(value))
    kinds = "a text such as '1 Mbit/s', a number, true or false, or a dict or list of them"
    raise TypeError(f"{key}: expected {kinds}, found {type(value).__name__}")


def to_assignments(values: Mapping[str, object] | None) -> list[tuple[str, str]]:
    """Write keys and values as those of ``--set``."""
    if values is None:
        return []
    if not isinstance(values, Mapping):
        raise TypeError(f"set: expected a dict of keys and values, found {type(values).__name__}")
    for key in values:
        if not isinstance(key, str):
            raise TypeError(f"set: a key is a text such as 'network.link.rate', found {key!r}")
    return [(key, to_text(key, value)) for key, value in values.items()]


def to_time(name: str, value: str | float | None) -> str | None:
    """Write a time, which is a text with its unit or a number of seconds."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise TypeError(f"{name}: expected a time such as '100 ms', or seconds, found {type(value).__name__}")
    return f"{to_seconds(name, value):.9f} s"


def to_seconds(name: str, value: Any) -> float:
    """Check a number of seconds."""
    if isinstance(value, (bool, str)) or not hasattr(value, "__float__"):
        raise TypeError(f"{name}: expected a number of seconds, found {value!r}")
    if not math.isfinite(value):
        raise ValueError(f"{name}: expected a number of seconds, found {value!r}")
    return float(value)


def to_whole(name: str, value: Any, least: int = 0, most: int = 2**64 - 1) -> int:
    """Check a whole number, also one of numpy."""
    expected = f"{name}: expected a whole number, at least {least}, found {value!r}"
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(expected)
    number = operator.index(value)
    if not least <= number <= most:
        raise ValueError(expected if number < least else f"{name}: expected at most {most}, found {number}")
    return number
