"""Cases: inputs in other programs' formats, as data with version and source, and what each part of one means there."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Outcome = Literal["same", "named", "other", "silent"]
"""As the original; not used and named with the reason; something else; neither used nor named."""

CASES = Path(__file__).with_name("cases")

_WHERE = ("at", "off", "named")


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One case. theirs: what a part of the input means to the original; rule: what is compared here"""

    theirs: str
    rule: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """One input with its cases. given: as the file writes it; kind: which part of the product reads it"""

    format: str
    origin: str
    kind: str
    given: Mapping[str, Any]
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFile:
    """The cases of one format. origin: where "theirs" is from: documentation, types, or a run of the original"""

    format: str
    title: str
    version: str
    source: str
    origin: str
    inputs: tuple[Input, ...]


def read_case_files(folder: Path = CASES) -> Iterator[CaseFile]:
    """Yield the files in the order of their names. Raises ValueError for one that is none."""
    for path in sorted(folder.glob("*.toml")):
        table = tomllib.loads(path.read_text("utf-8"))
        origin = table["origin"]
        if origin not in ("documentation", "types", "run"):
            raise ValueError(f"{path}: origin {origin!r}")
        inputs = tuple(_read_input(path, each, origin) for each in table["input"])
        yield CaseFile(
            format=path.stem,
            title=table["title"],
            version=table["version"],
            source=table["source"],
            origin=origin,
            inputs=inputs,
        )


def _read_input(path: Path, given: Mapping[str, Any], origin: str) -> Input:
    checks = []
    for each in given["checks"]:
        rule = {key: value for key, value in each.items() if key != "theirs"}
        if not any(name in rule for name in _WHERE):
            raise ValueError(f"{path}: {each['theirs']}: it compares nothing")
        checks.append(Check(theirs=each["theirs"], rule=rule))
    return Input(
        format=path.stem,
        origin=given.get("origin", origin),
        kind=given["kind"],
        given=given,
        checks=tuple(checks),
    )


_MISSING = object()


def judge(check: Check, state: Mapping[str, Any]) -> tuple[Outcome, str]:
    """Return the outcome of a case, and what there is here."""
    rule = check.rule
    left = "\n".join(map(str, state.get("left", ())))
    is_named = "named" in rule and str(rule["named"]) in left
    if "off" in rule:
        found = find_place(state, rule["off"])
        if found is not _MISSING:
            return "other", f"it is {found!r}"
        return ("same", f"off: {rule['named']}") if is_named else ("silent", "off, without a word")
    if "at" not in rule:
        return ("named", str(rule["named"])) if is_named else ("silent", "nothing, without a word")
    found = find_place(state, rule["at"])
    if found is not _MISSING and _fits(found, rule):
        return "same", shorten(found)
    if is_named:
        return "named", str(rule["named"])
    return ("silent", "nothing, without a word") if found is _MISSING else ("other", shorten(found))


def find_place(state: object, place: str) -> Any:
    """Return a value by its place, whose parts have slashes between them."""
    found = state
    for part in place.split("/"):
        if isinstance(found, Mapping) and part in found:
            found = found[part]
        elif isinstance(found, list | tuple) and part.isdecimal() and int(part) < len(found):
            found = found[int(part)]
        else:
            return _MISSING
    return found


def _fits(found: Any, rule: Mapping[str, Any]) -> bool:
    if "is" in rule:
        return bool(found == rule["is"])
    if "has" in rule:
        wanted = rule["has"] if isinstance(rule["has"], list) else [rule["has"]]
        return all(each in found for each in wanted)
    return True


def shorten(value: object) -> str:
    """Return a value as one short line."""
    text = " ".join(str(value).split())
    return text if len(text) <= 90 else f"{text[:89]}…"
