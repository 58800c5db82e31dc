"""The trace of a session as one web page that needs nothing besides itself.

Its policy (CSP) allows its own script and style by their hashes and no address at all. Texts of the session are data in
blocks of JSON in which no character can end the block.
"""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, TypeVar

from packages.trace.diagnosis import Diagnosis, diagnose
from packages.trace.rows.session_trace import SessionTrace
from packages.trace.rows.trace_rows import Branch, Row
from sandbox.sanitize import sanitize_json, sanitize_text
from sandbox.secrets.redaction import redact, redact_values

BLOCK = 200
"""Rows whose details are parsed together."""

MOST_CHARACTERS, LONGEST_TEXT = 8_000_000, 50_000
"""Characters of all details of a page, and of one text: a browser opens what comes of it in a second."""

_Shape = TypeVar("_Shape")

_FOLDER = Path(__file__).parent


def render_page(traces: Sequence[SessionTrace], *, live: bool = False) -> bytes:
    """Return the page of a session and those that it started. live: it asks its server for what is new"""
    script, style = (_read_asset(name) for name in ("trace_page.js", "trace_page.css"))
    cut = _find_cut(traces)
    diagnosis = diagnose(traces)
    data = {
        "live": live,
        "made": round(time.time()),
        "cut": cut if cut < LONGEST_TEXT else 0,
        "sessions": [
            {**describe_trace(each, diagnosis), "rows": _redact([_pack_row(row) for row in each.rows])}
            for each in traces
        ],
    }
    blocks = [_render_block("data", data)]
    for place, trace in enumerate(traces):
        for number, start in enumerate(range(0, len(trace.rows), BLOCK)):
            details = [_pack_detail(row, cut) for row in trace.rows[start : start + BLOCK]]
            blocks.append(_render_block(f"block-{place}-{number}", details))
    title = sanitize_text(redact(str(traces[0].facts["title"] or traces[0].id)))
    parts = {
        "@POLICY@": build_policy(live=live),
        "@TITLE@": escape(f"{title} · trace"),
        "@STYLE@": style,
        "@DATA@": "\n".join(blocks),
        "@SCRIPT@": script,
    }
    return "".join(_fill(_read_asset("trace_page.html"), parts)).encode("utf-8", "replace")


def build_policy(*, live: bool = False) -> str:
    """Return the page's Content-Security-Policy: its own script and style, and only a live page may ask its server."""
    hashes = {
        name: base64.b64encode(hashlib.sha256(_read_asset(name).encode()).digest()).decode()
        for name in ("trace_page.js", "trace_page.css")
    }
    return (
        f"default-src 'none'; script-src 'sha256-{hashes['trace_page.js']}';"
        f" style-src 'sha256-{hashes['trace_page.css']}'; base-uri 'none'; form-action 'none'"
        + ("; connect-src 'self'" if live else "")
    )


def describe_trace(trace: SessionTrace, diagnosis: Diagnosis | None = None) -> dict[str, Any]:
    """Return what a page needs of a session besides its rows. diagnosis: of it or of another session of the page"""
    return _redact(
        {
            "id": trace.id,
            "facts": trace.facts,
            "unread": trace.unread,
            "block": BLOCK,
            "revision": trace.revision,
            "diagnosis": _pack_diagnosis(diagnosis)
            if diagnosis is not None and diagnosis.session == trace.id
            else None,
            "branches": [_pack_branch(each) for each in trace.branches.values()],
        }
    )


def list_changes(trace: SessionTrace, since: int) -> list[tuple[int, list[Any], dict[str, Any]]]:
    """Return place, row and details of each row that has changed after a revision."""
    return [
        (place, _redact(_pack_row(row)), _pack_detail(row, LONGEST_TEXT))
        for place, row in enumerate(trace.rows)
        if row.revision > since
    ]


USAGE = ("input", "cached", "output", "reasoning", "cost")


def _pack_row(row: Row) -> list[Any]:
    """Return a row as the page reads it: see `NAMES` and `USAGE` in its script."""
    return [
        row.number,
        row.event,
        row.kind,
        row.title,
        row.time,
        round(row.seconds, 3),
        row.failed,
        row.off,
        row.usage and [row.usage[name] for name in USAGE],
        row.model,
        row.parts,
        row.tests,
    ]


def _pack_diagnosis(diagnosis: Diagnosis) -> dict[str, Any]:
    return {
        "event": diagnosis.event,
        "kind": diagnosis.kind,
        "reason": diagnosis.reason,
        "evidence": list(diagnosis.evidence),
    }


def _pack_branch(branch: Branch) -> dict[str, Any]:
    return {name: getattr(branch, name) for name in Branch.__slots__ if name not in ("prompt", "report")}


def _pack_detail(row: Row, cut: int) -> dict[str, Any]:
    return _redact(_cut_texts(row.detail, cut))


def _redact(value: _Shape) -> _Shape:
    return redact_values(value)  # type: ignore[return-value]  # the same shape


def _cut_texts(value: Any, cut: int) -> Any:
    if isinstance(value, str):
        if len(value) <= cut:
            return value
        left = len(value) - cut
        head = cut * 2 // 3
        return f"{value[:head]}\n[… {left:,} characters are not on this page …]\n{value[len(value) - (cut - head) :]}"
    if isinstance(value, dict):
        return {name: _cut_texts(each, cut) for name, each in value.items()}
    if isinstance(value, list):
        return [_cut_texts(each, cut) for each in value]
    return value


def _find_cut(traces: Sequence[SessionTrace]) -> int:
    """Return the longest text with which all of them fit into a page."""
    sizes = sorted(len(text) for trace in traces for row in trace.rows for text in _iterate_texts(row.detail))
    left = MOST_CHARACTERS
    for place, size in enumerate(sizes):
        share = left // (len(sizes) - place)
        if size > share:
            return max(min(share, LONGEST_TEXT), 100)
        left -= size
    return LONGEST_TEXT


def _iterate_texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _iterate_texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _iterate_texts(each)


def _render_block(name: str, value: object) -> str:
    return f'<script type="application/json" id="{name}">{encode_for_page(value)}</script>'


def encode_for_page(value: object) -> str:
    """Return JSON that can stand in a script element: no `<` begins a tag or a comment, no character is hidden."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return sanitize_json(text).replace("<", "\\u003c")


def _fill(page: str, parts: Mapping[str, str]) -> Iterator[str]:
    """Yield the page with each mark replaced once: a text of the session that looks like a mark stays."""
    for mark, text in parts.items():
        before, _, page = page.partition(mark)
        yield before
        yield text
    yield page


def _read_asset(name: str) -> str:
    return (_FOLDER / name).read_text("utf-8")
