"""Output of task runners that start the scripts of many packages: their prefixes of lines, empty runs, and replays."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sandbox.lazy_pattern import compile_lazily

EXECUTE_TASKS: Mapping[str, str] = {
    "TURBO_FORCE": "true",
    "NX_SKIP_NX_CACHE": "true",
    "MOON_CACHE": "off",
    "WIREIT_CACHE": "none",
}
"""Variables by which task runners execute each task, instead of showing the output of an earlier execution: what a
test depends on beside the files that are declared would not be seen."""

_LABEL = r"@?[\w.-]+(?:/[\w.-]+)*"
_PREFIXES = (
    compile_lazily(rf"^(?P<label>{_LABEL}:[\w.:-]+): ?(?P<rest>.*)$"),  # turbo, lerna
    compile_lazily(rf"^(?P<label>{_LABEL} [\w.:-]*test[\w.:-]*): ?(?P<rest>.*)$"),  # pnpm -r
    compile_lazily(
        rf"^(?:➤ YN\d+: )?(?:│ )?\[(?P<label>{_LABEL}(?:[:@][\w.-]+)?)\]:? ?(?P<rest>.*)$"
    ),  # yarn, concurrently
    compile_lazily(rf"^\s*(?P<label>{_LABEL}:[\w.-]+) \| ?(?P<rest>.*)$"),  # moon
    compile_lazily(rf"^(?P<label>{_LABEL}): (?P<rest>.*)$"),  # lerna, nx: only where they say who they are
)
_NAMES_ITSELF = compile_lazily(r"^lerna (?:notice|info|success|ERR!)|^ ?(?:>  )?NX  ", re.M)

MIN_LINES = 3
"""Lines with one label from which it is a prefix: the summary of any runner has as many."""


def strip_prefixes(text: str) -> str:
    """Return an output with the lines of each task together and without prefixes; a text without any as it is."""
    patterns = _PREFIXES if _NAMES_ITSELF.search(text) else _PREFIXES[:-1]
    for pattern in patterns:
        groups: dict[str, list[str]] = {}
        others: list[str] = []
        for line in text.split("\n"):
            match = pattern.match(line)
            if match is None:
                others.append(line)
            else:
                groups.setdefault(match["label"], []).append(match["rest"])
        if any(len(lines) >= MIN_LINES for lines in groups.values()):
            return "\n".join([*others, *(line for lines in groups.values() for line in ("", *lines))])
    return text


_REPLAYS = compile_lazily(
    r"^(?:\S+: )?cache hit, replaying logs \S+"  # turbo
    r"|\[(?:existing outputs match the cache, left as is|local cache|remote cache)\]$"  # nx
    r"|^Cached: +[1-9]\d* cached, "
    r"|\(cached(?: from previous run)?(?:, \w+)?\)$"  # moon
    r"|^✅ .*(?:Restored from cache|Already fresh)"  # wireit
    r"|was restored from the build cache|\(from cache\)$"  # rush
    r"|^//\S+ +\(cached\) PASSED",  # Bazel
    re.M,
)


def find_replay(text: str) -> str:
    """Return a line by which a task runner says that it showed the output of an earlier run, "" without any."""
    found = _REPLAYS.search(text)
    return text[text.rfind("\n", 0, found.end()) + 1 :].partition("\n")[0].strip() if found else ""
