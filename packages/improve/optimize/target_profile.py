"""Where the metric spends its time in the target, and what it calls the functions with."""

from __future__ import annotations

import ast
import asyncio
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from packages.improve.optimize.measurement import Measurement
from sandbox.fs.regular_file import read_regular_file
from sandbox.lazy_dataclass import dataclass
from sandbox.parsed_data import parse_json
from tools.core.text import split_lines

PROBE = Path(__file__).with_name("profile_probe.py")

LARGEST = 32 << 20
"""Bytes of one process's account."""

LEAST_SHARE, MOST_FUNCTIONS = 0.05, 4
"""Share of the samples from which on a function is worth a change, and how many are changed."""

HOTTEST = 3
"""Lines that are named, and filled in anew by a model that can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetProfile:
    """Profile of one run of the metric.

    problem: why the run failed with the probe, "" if it did not
    functions, lines: samples by qualified name and by line; calls: arguments by function, as literals
    """

    functions: Mapping[str, int]
    lines: Mapping[int, int]
    calls: Mapping[str, Sequence[str]]
    problem: str = ""

    def choose_functions(self, names: Sequence[str]) -> list[str]:
        """Return the functions that take most of the time, of those named; all of them where none was sampled."""
        total = sum(self.functions.values())
        hot = [each for each in names if self.functions.get(each, 0) >= max(1, LEAST_SHARE * total)]
        hot.sort(key=lambda each: -self.functions[each])
        return (hot or list(names))[:MOST_FUNCTIONS]

    def list_hot_lines(self) -> list[tuple[int, float]]:
        """Return the three lines that take most of the time, with their shares."""
        total = sum(self.functions.values())
        hot = sorted(self.lines.items(), key=lambda pair: -pair[1])[:HOTTEST]
        return [(line, count / total) for line, count in hot if total]


async def profile_target(measurement: Measurement, text: str) -> TargetProfile:
    """Run the metric once on the original's text with a probe in it."""
    return (await profile_files(measurement, {measurement.path: text}))[measurement.path]


async def profile_files(measurement: Measurement, texts: Mapping[str, str]) -> dict[str, TargetProfile]:
    """Run the metric once with a probe in each of the files. texts: by path"""
    root, cache = measurement.trial.root, measurement.original.folders.cache
    with tempfile.TemporaryDirectory(prefix="profile-", dir=cache, ignore_cleanup_errors=True) as folder:
        places = {path: Path(folder, str(number)) for number, path in enumerate(texts)}
        try:
            for path, text in texts.items():
                places[path].mkdir()
                (root / path).write_bytes(_add_probe(text, places[path]).encode())
            sample = await measurement.run_probe(Path(folder))
        finally:
            for path, text in texts.items():
                (root / path).write_bytes(text.encode())
        return {
            path: replace(await asyncio.to_thread(_read_accounts, place), problem=sample.reason)
            for path, place in places.items()
        }


def _add_probe(text: str, folder: Path) -> str:
    """Return the text with the probe at its end, but before what runs as a script."""
    source = PROBE.read_text("utf-8")
    probe = (
        f"_probe = {{}}\nexec(compile({source!r}, 'probe', 'exec'), _probe)\n"
        f"_probe['start_probe'](globals(), {str(folder)!r})\n"
    )
    tree = ast.parse(text)
    for node in tree.body:
        if isinstance(node, ast.If) and "__name__" in ast.unparse(node.test):
            lines = split_lines(text)
            return "".join([*lines[: node.lineno - 1], probe, "\n", *lines[node.lineno - 1 :]])
    return f"{text}\n{probe}"


def _read_accounts(folder: Path) -> TargetProfile:
    functions, lines = Counter[str](), Counter[int]()
    calls: dict[str, dict[str, None]] = {}
    for path in sorted(folder.glob("*.json")):
        try:
            told = parse_json(read_regular_file(path, LARGEST) or b"")
            functions.update({str(name): int(count) for name, count in told["functions"].items()})
            lines.update({int(line): int(count) for line, count in told["lines"].items()})
            for name, texts in told["calls"].items():
                good = [each for each in texts if isinstance(each, str) and _is_call(each)]
                calls.setdefault(str(name), {}).update(dict.fromkeys(good))
        except (ValueError, TypeError, KeyError, AttributeError):  # the project's code wrote into it
            continue
    return TargetProfile(
        functions=functions, lines=lines, calls={name: list(each) for name, each in calls.items()}
    )


def _is_call(text: str) -> bool:
    """Return whether the text is a literal of positional and named arguments."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False
    return isinstance(value, tuple) and [type(each) for each in value] == [list, dict]
