"""Versioned guidelines and settings of a repository, and those that are applied.

`.patchwright/overlays/KIND/N` is version N of a kind, which is never changed; its first line says by which evidence it
was accepted. Applied is what stands between two marks: of a guideline at the end of AGENTS.md, which every session
reads, of the others, lines of settings, at the top of patchwright.toml, which sessions read once a person trusts it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from agent.extension.shared_files import write_shared_file
from sandbox.errors import Fault, UserError
from sandbox.fs.regular_file import SETTINGS, read_regular_file
from sandbox.fs.untrusted_file import read_workspace_text
from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlayKind:
    """What can be tuned. file: where a version is applied; comment, line: forms of a comment and of a rule there

    mark: words of the comments around an applied version
    """

    name: str
    file: str
    suffix: str
    comment: str
    line: str
    mark: str = "patchwright tune"

    @property
    def has_settings(self) -> bool:
        """Whether its lines are settings, not rules."""
        return self.suffix == "toml"

    @property
    def marks(self) -> tuple[str, str]:
        """Lines before and behind an applied version, the first with `{}` for its number."""
        begin, end = (self.comment.format(f"{self.mark}: {each}") for each in ("begin {}", "end"))
        return begin, end

    def format_lines(self, rules: Sequence[str]) -> str:
        """Return rules, or lines of settings, as a text."""
        return "".join(f"{self.line.format(each)}\n" for each in rules)

    def find_section(self, text: str) -> re.Match[str] | None:
        """Return the applied version in a text, whose number is the first group."""
        begin, end = (re.escape(each) for each in self.marks)
        number = begin.replace(re.escape("{}"), r"(\d{1,6})")
        return re.search(rf"{number}\r?\n.*?{end}\r?\n?", text, re.DOTALL)


GUIDELINE = OverlayKind(name="guideline", file="AGENTS.md", suffix="md", comment="<!-- {} -->", line="- {}")
STRATEGY = OverlayKind(name="strategy", file="patchwright.toml", suffix="toml", comment="# {}", line="{}")
PROMPTS = replace(STRATEGY, name="prompts", mark="patchwright tune prompts")
DESCRIPTIONS = replace(STRATEGY, name="descriptions", mark="patchwright tune descriptions")
KINDS = {each.name: each for each in (GUIDELINE, STRATEGY, PROMPTS, DESCRIPTIONS)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlay:
    """One version. evidence: why it was accepted, in one line; rules: or lines of settings"""

    version: int
    evidence: str
    rules: tuple[str, ...]


def parse_rules(text: str) -> list[str]:
    """Return the rules of a text: one for each item of a list, or else for each line."""
    lines = [line.strip() for line in text.splitlines()]
    items = [line[2:].strip() for line in lines if line.startswith(("- ", "* "))]
    return list(dict.fromkeys(filter(None, items or [line for line in lines if not line.startswith("#")])))


@dataclass(frozen=True, slots=True)
class Overlays:
    """The versions of one kind in a repository."""

    root: Path
    kind: OverlayKind = GUIDELINE

    @property
    def folder(self) -> str:
        """Folder of the versions, below the repository's."""
        return f".patchwright/overlays/{self.kind.name}"

    def list_versions(self) -> list[Overlay]:
        """Return the versions, the oldest first."""
        found = []
        before, _, behind = self.kind.comment.partition("{}")
        for version in self._list_numbers():
            first, _, rest = read_workspace_text(self.root, self._get_name(version), SETTINGS).partition("\n")
            evidence = first.removeprefix(before).removesuffix(behind)
            found.append(Overlay(version=version, evidence=evidence, rules=tuple(parse_rules(rest))))
        return [each for each in found if each.evidence]

    def _list_numbers(self) -> list[int]:
        """Return the numbers that files have, also such as are not read: links out of the repository."""
        files = (self.root / self.folder).glob(f"*.{self.kind.suffix}")
        return sorted(int(each.stem) for each in files if re.fullmatch("[1-9][0-9]{0,5}", each.stem))

    def _get_name(self, version: int) -> str:
        return f"{self.folder}/{version}.{self.kind.suffix}"

    def save_version(self, rules: Sequence[str], evidence: str) -> Overlay:
        """Write a new version."""
        version = max(self._list_numbers(), default=0) + 1
        text = f"{self.kind.comment.format(evidence)}\n{self.kind.format_lines(rules)}"
        write_shared_file(self.root, self._get_name(version), text.encode("utf-8", "replace"))
        return Overlay(version=version, evidence=evidence, rules=tuple(rules))

    def find_applied(self) -> int:
        """Return the version that is applied, 0 for none."""
        found = self.kind.find_section(self._read_file())
        return int(found[1]) if found else 0

    def apply_version(self, version: int) -> None:
        """Put a version into its file in place of the one that is there; 0 takes it out.

        Raises UserError without it, and for settings beside which the file has the same itself
        """
        versions = self.list_versions()
        overlay = next((each for each in versions if each.version == version), None)
        if overlay is None and version:
            known = ", ".join(str(each.version) for each in versions) or "none"
            raise UserError(Fault.USAGE, f"there is no version {version}", f"Versions: {known}.")
        text, section = self._read_file(), ""
        if overlay is not None:
            begin, end = self.kind.marks
            section = f"{begin.format(version)}\n{self.kind.format_lines(overlay.rules)}{end}\n"
        if found := self.kind.find_section(text):
            text = text[: found.start()] + section + text[found.end() :]
        elif self.kind.has_settings:
            text = section + text  # behind the first table's name they would be parts of it
        elif section:
            text = f"{text.rstrip()}\n\n{section}" if text.strip() else section
        path = self.root / self.kind.file
        if self.kind.has_settings:
            _check_settings(text, path)
        if not text.strip():
            path.unlink(missing_ok=True)
        else:
            write_shared_file(self.root, self.kind.file, text.encode())

    def _read_file(self) -> str:
        path = self.root / self.kind.file
        if path.is_symlink():
            raise UserError(Fault.USAGE, f"{path.name} is a link", "Make it a file of the repository.")
        try:
            return (read_regular_file(path, SETTINGS) or b"").decode("utf-8")
        except UnicodeDecodeError:
            raise UserError(Fault.USAGE, f"{path.name} is not UTF-8", "Convert it first.") from None


def _check_settings(text: str, path: Path) -> None:
    from cli.settings.settings_checks import check_values
    from sandbox.parsed_data import parse_toml

    try:
        check_values(parse_toml(text), path)
    except ValueError as problem:
        hint = "A table that the version sets cannot be there as well: take it out, or merge them by hand."
        raise UserError(Fault.USAGE, f"{path.name} with it is no TOML: {problem}", hint) from None
