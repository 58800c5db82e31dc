"""Versioned guidelines of a repository, and the one that its AGENTS.md has.

`.patchwright/overlays/guideline/N.md` is version N, which is never changed; its first line says by which evidence it
was accepted. Applied is what stands between the two marks in AGENTS.md, which every session reads.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from sandbox.errors import Fault, UserError
from sandbox.fs.regular_file import SETTINGS, read_regular_file
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

FOLDER, FILE = ".patchwright/overlays/guideline", "AGENTS.md"

BEGIN, END = "<!-- patchwright tune: begin", "<!-- patchwright tune: end -->"

_SECTION = compile_lazily(rf"{re.escape(BEGIN)} (\d+) -->\n.*?{re.escape(END)}\n?", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlay:
    """One version. evidence: why it was accepted, in one line"""

    version: int
    evidence: str
    rules: tuple[str, ...]


def list_overlays(root: Path) -> list[Overlay]:
    """Return the versions, the oldest first."""
    found = []
    for path in sorted((root / FOLDER).glob("*.md")):
        content = read_regular_file(path, SETTINGS)
        if content is None or not path.stem.isdecimal():
            continue
        first, _, rest = content.decode("utf-8", "replace").partition("\n")
        evidence = first.removeprefix("<!-- ").removesuffix(" -->")
        found.append(Overlay(version=int(path.stem), evidence=evidence, rules=tuple(parse_rules(rest))))
    return sorted(found, key=lambda each: each.version)


def parse_rules(text: str) -> list[str]:
    """Return the rules of a text: one for each item of a list, or else for each line."""
    lines = [line.strip() for line in text.splitlines()]
    items = [line[2:].strip() for line in lines if line.startswith(("- ", "* "))]
    return list(dict.fromkeys(filter(None, items or [line for line in lines if not line.startswith("#")])))


def format_rules(rules: Sequence[str]) -> str:
    """Return rules as the text that a session reads."""
    return "".join(f"- {each}\n" for each in rules)


def save_overlay(root: Path, rules: Sequence[str], evidence: str) -> Overlay:
    """Write a new version."""
    version = max((each.version for each in list_overlays(root)), default=0) + 1
    folder = root / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{version}.md").write_text(f"<!-- {evidence} -->\n{format_rules(rules)}", "utf-8")
    return Overlay(version=version, evidence=evidence, rules=tuple(rules))


def find_applied(root: Path) -> int:
    """Return the version that AGENTS.md has, 0 for none."""
    found = _SECTION.search(_read_file(root))
    return int(found[1]) if found else 0


def apply_overlay(root: Path, version: int) -> None:
    """Put a version into AGENTS.md in place of the one that is there; 0 takes it out. Raises UserError without it."""
    overlay = next((each for each in list_overlays(root) if each.version == version), None)
    if overlay is None and version:
        known = ", ".join(str(each.version) for each in list_overlays(root)) or "none"
        raise UserError(Fault.USAGE, f"there is no version {version}", f"Versions: {known}.")
    text = _read_file(root)
    section = f"{BEGIN} {version} -->\n{format_rules(overlay.rules)}{END}\n" if overlay else ""
    if _SECTION.search(text):
        text = _SECTION.sub(lambda found: section, text, count=1)
    elif section:
        text = f"{text.rstrip()}\n\n{section}" if text.strip() else section
    path = root / FILE
    if not text.strip():
        path.unlink(missing_ok=True)
    else:
        path.write_text(text, "utf-8")


def _read_file(root: Path) -> str:
    path = root / FILE
    if path.is_symlink():
        raise UserError(Fault.USAGE, f"{FILE} is a link", "Make it a file of the repository.")
    return (read_regular_file(path, SETTINGS) or b"").decode("utf-8")
