"""Inputs made of inputs: the arguments of published examples, changed within the bounds that all of them keep."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from random import Random
from typing import Any


def vary_arguments(draw: Random, inputs: Sequence[list[Any]]) -> list[Any]:
    """Return one of the inputs with one to three changes."""
    arguments: list[Any] = copy.deepcopy(draw.choice(inputs))
    for _ in range(draw.randint(1, 3)):
        place = draw.randrange(len(arguments))
        arguments[place] = _change_value(draw, arguments[place], [each[place] for each in inputs])
    return arguments


def _change_value(draw: Random, value: Any, seen: Sequence[Any]) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        low = min(_list_numbers(seen), default=0)
        return max(min(low, 1) if low >= 0 else -(10**6), value + draw.choice([-3, -2, -1, 1, 2, 3, 7]))
    if isinstance(value, float):
        return round(value + draw.choice([-1.0, -0.5, 0.5, 1.0]), 3)
    if isinstance(value, str):
        return _change_text(draw, value, "".join(sorted({c for each in seen for c in str(each)})))
    if isinstance(value, list):
        return _change_list(draw, value, seen)
    return value


def _change_list(draw: Random, value: list[Any], seen: Sequence[Any]) -> list[Any]:
    lists = [each for each in seen if isinstance(each, list)]
    flat = [each for one in lists for each in one]
    rows = value and all(isinstance(each, list) for each in value)
    copied = copy.deepcopy(value)
    action = draw.choice(["element", "element", "drop", "double", "swap"])
    if not copied:
        return copied
    place = draw.randrange(len(copied))
    if action == "element":
        copied[place] = _change_value(draw, copied[place], flat)
    elif action == "drop" and len(copied) > 1:
        del copied[place]
    elif action == "double":
        other = copied[place] if rows else _change_value(draw, copied[place], flat)
        copied.insert(draw.randrange(len(copied) + 1), copy.deepcopy(other))
    else:
        other = draw.randrange(len(copied))
        copied[place], copied[other] = copied[other], copied[place]
    if rows and len({len(each) for one in lists for each in one if isinstance(each, list)}) == 1:
        width = len(value[0])
        copied = [each for each in copied if len(each) == width] or copy.deepcopy(value)
    return _keep_properties(copied, lists)


def _keep_properties(value: list[Any], seen: Sequence[list[Any]]) -> list[Any]:
    """Restore the order and distinctness that all examples have: a program may rely on them."""
    try:
        if all(len({json.dumps(e) for e in each}) == len(each) for each in seen):
            value = list({json.dumps(e): e for e in value}.values())
        if all(each == sorted(each) for each in seen):
            value = sorted(value)
    except TypeError:  # of several types: no order to keep
        pass
    return value


def _change_text(draw: Random, value: str, letters: str) -> str:
    if not value or not letters:
        return value
    place = draw.randrange(len(value))
    return draw.choice(
        [
            value[:place] + draw.choice(letters) + value[place + 1 :],
            value[:place] + draw.choice(letters) + value[place:],
            value[:place] + value[place + 1 :] or value,
            value[place:] + value[:place],
        ]
    )


def _list_numbers(values: Sequence[Any]) -> list[int]:
    return [each for each in values if isinstance(each, int)]
