"""A result on its way from a worker: a line, or for a large one a file in the run's scratch folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent.children.process import wire
from packages.evaluation.executors.received_result import receive_result
from packages.evaluation.runs.result_store import shorten_key
from packages.evaluation.runs.trial_order import TrialOrder
from packages.evaluation.runs.trial_result import LARGEST, TrialResult
from sandbox.errors import UserError
from sandbox.fs.private_files import create_private_folder, write_private_file
from sandbox.fs.regular_file import read_regular_file

LONGEST_LINE = 1 << 20
"""Bytes of a result that is sent as a line; a pipe holds far less, and a channel refuses 16 times as many."""


def encode_result_line(order: TrialOrder, result: TrialResult) -> bytes:
    """Return the line of a worker that has a result. Blocking."""
    line = wire.encode_message("result", result=result.encode())
    if len(line) <= LONGEST_LINE:
        return line
    place = _locate_file(order)
    try:
        create_private_folder(place.parent)
        write_private_file(place, json.dumps(result.encode()).encode())
    except OSError as error:  # the result counts without its change
        told = f"its change is not kept: {error.strerror}"
        return wire.encode_message("result", result=replace(result, patch="", detail=told).encode())
    return wire.encode_message("result", result=None)


def decode_result_line(order: TrialOrder, message: Mapping[str, Any]) -> TrialResult:
    """Return the result of such a line. Blocking. Raises ValueError."""
    if message.get("result") is not None:
        return receive_result(order, message["result"])
    place = _locate_file(order)
    try:
        content = read_regular_file(place, LARGEST)
    except UserError as error:
        raise ValueError(error.message) from None
    place.unlink(missing_ok=True)
    return receive_result(order, json.loads(content or b""))


def _locate_file(order: TrialOrder) -> Path:
    return order.folders.scratch / "results" / f"{shorten_key(order.key)}.json"
