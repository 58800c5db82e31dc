"""Fixes of ruff's rules about performance and simpler library calls, where ruff is on the machine."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from packages.improve.rewrites.rewrite import Rewrite, TextEdit
from packages.improve.rewrites.rewrite_scope import RewriteScope, iter_scopes
from packages.offline.repair.templates.support.source_tree import Source
from sandbox.errors import UserError
from sandbox.parsed_data import parse_json
from sandbox.process.command import Command, Sandbox

RULES = "PERF,FURB,C4"

MOST_OUTPUT = 4 << 20
"""Bytes of ruff's report: some thousand findings."""


async def list_ruff_rewrites(
    sandbox: Sandbox, root: Path, python: str, text: str, functions: Collection[str]
) -> list[Rewrite]:
    """Return ruff's fixes inside the named functions; none without ruff. python: the project's interpreter"""
    options = f"check --isolated --preview --select {RULES} --unsafe-fixes --output-format json".split()
    for program in (str(Path(python).with_name("ruff")), "ruff"):
        try:
            completed = await sandbox.run(
                Command(
                    argv=(program, *options, "--no-cache", "--stdin-filename", "target.py", "-"),
                    cwd=root,
                    stdin=text.encode(),
                    stderr="separate",
                    scope="read-only",
                    whole=MOST_OUTPUT,
                )
            )
            found = parse_json(completed.stdout.head + completed.stdout.tail)
        except (UserError, ValueError):  # it is not there, or says something else
            continue
        if isinstance(found, list):
            source = Source("", text)
            scopes = [each for each in iter_scopes(source) if each.name in functions]
            return list(_iter_fixes(source, scopes, found))
    return []


def _iter_fixes(source: Source, scopes: Collection[RewriteScope], found: list[Any]) -> Iterator[Rewrite]:
    for finding in found:
        fix = finding.get("fix") if isinstance(finding, dict) else None
        if not isinstance(fix, dict) or not fix.get("edits"):
            continue
        line = finding["location"]["row"]
        scope = next((s for s in scopes if s.function.lineno <= line <= (s.function.end_lineno or 0)), None)
        if scope is None:
            continue
        edits = tuple(
            TextEdit(
                _to_offset(source, each["location"]),
                _to_offset(source, each["end_location"]),
                each["content"],
            )
            for each in fix["edits"]
        )
        yield Rewrite(kind=f"ruff {finding['code']}", function=scope.name, line=line, edits=edits)


def _to_offset(source: Source, place: dict[str, int]) -> int:
    """Return the offset of ruff's place, whose column counts characters from 1."""
    return min(source.get_line_start(place["row"]) + place["column"] - 1, len(source.text))
