"""Result of a trial as a worker or a node sends it: bounded, not trusted."""

from __future__ import annotations

import math
from dataclasses import fields, replace

from agent.session.received_sessions import is_session_id
from packages.evaluation.runs.trial_order import TrialOrder
from packages.evaluation.runs.trial_result import MOST_PATCH, TrialResult, decode_result

_MOST = 1e15
"""Of any number in a result."""


def receive_result(order: TrialOrder, values: object) -> TrialResult:
    """Return the result that was sent for an order. Raises ValueError for what is none.

    Which trial it is, and so where it is kept, is said by the order.
    """
    try:
        result = decode_result(values)
    except TypeError as error:
        raise ValueError(str(error)) from None
    for each in fields(TrialResult):
        if not _has_type(getattr(result, each.name), str(each.type)):
            raise ValueError(f"no result of a trial: its {each.name} is no {each.type}")
    if result.score > 1 or len(result.patch) > MOST_PATCH:
        raise ValueError("no result of a trial: its score or its patch is too large")
    if result.session and not is_session_id(result.session):
        raise ValueError(f"no result of a trial: its session is {result.session[:40]!r}")
    return replace(
        result,
        key=order.key,
        task=order.task,
        digest=order.digest,
        variant=order.label,
        trial=order.trial,
    )


def _has_type(value: object, annotation: str) -> bool:
    match annotation:
        case "bool":
            return isinstance(value, bool)
        case "int":
            return type(value) is int and 0 <= value < _MOST
        case "float":
            return _is_amount(value)
        case "float | None":
            return value is None or _is_amount(value)
        case "tuple[str, ...]":
            return isinstance(value, tuple) and all(isinstance(each, str) for each in value)
        case _:
            return isinstance(value, str)


def _is_amount(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and 0 <= value < _MOST
