"""Options of an aid or a congestion control: the keyword arguments of its class."""

from __future__ import annotations

import inspect
import math
from typing import Any, Literal, get_args, get_origin, get_type_hints

#: An option: its name, its kind, its default, and its words if the kind is ``"choice"``.
Option = tuple[str, str, Any, list[str]]

#: The largest whole number of an option.
MAX_COUNT = 2**32 - 1


def options_of(cls: type) -> list[Option]:
    """Return what ``__init__`` declares: an option for each parameter, with its default.

    Raises:
        TypeError: a parameter that a scenario cannot give.
    """
    init = cls.__dict__.get("__init__") or getattr(cls, "__init__", None)
    if not inspect.isfunction(init):
        return []
    _, *parameters = inspect.signature(init).parameters.values()
    hints = _hints(init)
    return [
        _option(cls, parameter, hints.get(parameter.name))
        for parameter in parameters
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]


def _hints(init: Any) -> dict[str, Any]:
    try:
        return get_type_hints(init)
    except NameError:
        # Types that are known elsewhere only: what needs none goes without.
        return {}


def _option(cls: type, parameter: inspect.Parameter, hint: Any) -> Option:
    name, default = parameter.name, parameter.default
    who = f"{cls.__name__}.__init__: the parameter {name!r}"
    if parameter.kind is parameter.POSITIONAL_ONLY:
        raise TypeError(f"{who} is given by its name, and cannot be positional-only")
    if default is parameter.empty:
        raise TypeError(f"{who} needs a default, which holds where a scenario does not give it")
    words = [word for word in get_args(hint) if isinstance(word, str)] if get_origin(hint) is Literal else []
    return name, _kind(who, name, default, words), default, words


def _kind(who: str, name: str, default: Any, words: list[str]) -> str:
    if isinstance(default, bool):
        return "flag"
    if isinstance(default, str):
        if default not in words:
            raise TypeError(f"{who} is a text, and needs the words that it may be: {name}: Literal[{default!r}, …] = {default!r}")
        return "choice"
    if not isinstance(default, (int, float)) or not math.isfinite(default):
        raise TypeError(f"{who} has the default {default!r}: expected a number, true or false, or one of several words")
    if name.endswith("_s"):
        if default < 0:
            raise TypeError(f"{who} is a time (s), and its default {default!r} is less than 0")
        return "time"
    if name.endswith("_m"):
        return "distance"
    if isinstance(default, float):
        return "number"
    if not 0 <= default <= MAX_COUNT:
        raise TypeError(f"{who} has the default {default!r}: a whole number is from 0 to {MAX_COUNT}; write {default}.0")
    return "count"
