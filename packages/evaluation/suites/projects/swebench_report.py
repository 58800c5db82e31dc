"""The official SWE-bench harness's reports: which instances a set of predictions resolved."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from sandbox.errors import Fault, UserError
from sandbox.parsed_data import parse_json

Verdict = Literal["resolved", "unresolved", "error", "empty", "unrun"]

_FIELDS: Mapping[str, Verdict] = {
    "incomplete_ids": "unrun",
    "submitted_ids": "unrun",
    "completed_ids": "unresolved",
    "unresolved_ids": "unresolved",
    "empty_patch_ids": "empty",
    "error_ids": "error",
    "resolved_ids": "resolved",
}
"""Verdict by field of a run's report; a later field overrides an earlier one."""


def read_report(path: Path) -> dict[str, Verdict]:
    """Return a verdict for each instance. Raises UserError.

    path: the report of a run (`MODEL.RUN.json`), of one instance (`report.json`), or a folder with many of the latter
    """
    if path.is_dir():
        files = sorted(path.rglob("report.json"))
        if not files:
            raise UserError(Fault.USAGE, f"no report.json below {str(path)!r}")
        return {name: verdict for each in files for name, verdict in read_report(each).items()}
    try:
        values = parse_json(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(Fault.CONFIGURATION, f"{path}: no report: {error}") from None
    found = _read_run(values) if isinstance(values, dict) else {}
    if not found:
        raise UserError(
            Fault.CONFIGURATION,
            f"{path}: no report of the SWE-bench harness: it has neither resolved_ids nor resolved",
        )
    return found


def _read_run(values: Mapping[str, Any]) -> dict[str, Verdict]:
    found: dict[str, Verdict] = {}
    for field, verdict in _FIELDS.items():
        ids = values.get(field)
        found |= dict.fromkeys(map(str, ids), verdict) if isinstance(ids, list) else {}
    for name, entry in values.items():
        if isinstance(entry, dict) and isinstance(entry.get("resolved"), bool):
            found[name] = "resolved" if entry["resolved"] else "unresolved"
    return found
