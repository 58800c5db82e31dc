"""Sets of requirements that no work can meet, and rules that forbid what a requirement asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from agent.rules.event_pattern import matches_any_path
from agent.rules.rule_kinds import DiffRule, ProtectRule, format_rule, select_known
from agent.session_settings import NamedRule
from agent.verify.requirement import Requirement
from packages.search.requirements.extraction import describe_check
from packages.search.requirements.static_checks import is_same_file, split_place
from packages.search.spec_check.finding import SpecFinding

Exists = Callable[[str], bool]
"""Whether the workspace has a file or folder of this path."""


def find_impossible_sets(requirements: Sequence[Requirement], exists: Exists) -> Iterator[SpecFinding]:
    """Yield a finding for each pair that excludes each other, and for each limit that is below what is asked for."""
    checked = [each for each in requirements if each.kind not in ("group", "judged")]
    for place, first in enumerate(checked):
        for second in checked[place + 1 :]:
            if _exclude(first, second, exists) or _exclude(second, first, exists):
                text = f"{_name(first)} and {_name(second)} exclude each other"
                yield SpecFinding(kind="impossible", text=text, places=(_place(first), _place(second)))
    wanted = list_needed_files(checked, exists)
    for each in checked:
        if each.kind == "max-files" and len(wanted) > int(each.check):
            text = f"{_name(each)}, but {len(wanted)} have to be: {', '.join(wanted)}"
            yield SpecFinding(kind="impossible", text=text, places=(_place(each),))
        if each.kind == "max-lines" and int(each.check) == 0 and wanted:
            text = f"{_name(each)}, but {wanted[0]} has to be changed"
            yield SpecFinding(kind="impossible", text=text, places=(_place(each),))


def find_rule_conflicts(
    requirements: Sequence[Requirement], rules: Sequence[NamedRule], exists: Exists
) -> Iterator[SpecFinding]:
    """Yield a finding for each rule that forbids a change that a requirement asks for."""
    wanted = [each for each in requirements if _needs_change(each, exists)]
    for rule in select_known(rules):
        where = f"rule {rule.name!r} in {rule.source}"
        if isinstance(rule, ProtectRule):
            for each in wanted:
                path = _find_file(each)
                if matches_any_path(rule.paths, path.rstrip("/")):
                    text = f"the rule {rule.name!r} ({format_rule(rule)}) forbids it: {_name(each)}"
                    yield SpecFinding(kind="impossible", text=text, places=(where, _place(each)))
        elif isinstance(rule, DiffRule) and rule.max_files is not None:
            needed = [
                path
                for path in list_needed_files(requirements, exists)
                if not rule.paths or matches_any_path(rule.paths, path)
            ]
            if len(needed) > rule.max_files:
                text = (
                    f"the rule {rule.name!r} ({format_rule(rule)}) allows fewer files than the task names: "
                )
                yield SpecFinding(kind="impossible", text=text + ", ".join(needed), places=(where,))


def list_needed_files(requirements: Sequence[Requirement], exists: Exists) -> list[str]:
    """Return the files that have to change, one name for each, folders left out."""
    found = [_find_file(each) for each in requirements if _needs_change(each, exists)]
    return list(dict.fromkeys(path.removeprefix("./") for path in found if path and not path.endswith("/")))


def _needs_change(each: Requirement, exists: Exists) -> bool:
    """Return whether a requirement is met only if its file changes."""
    match each.kind:
        case "file-changed":
            return True
        case "file-exists":
            return not exists(each.check)
        case "file-gone":
            return exists(each.check)
        case _:
            return False


def _find_file(each: Requirement) -> str:
    return split_place(each.check)[0] if each.kind.startswith("name-") else each.check


def _exclude(first: Requirement, second: Requirement, exists: Exists) -> bool:
    """Return whether the second cannot be met if the first is."""
    match first.kind, second.kind:
        case "file-unchanged", ("file-changed" | "file-exists" | "file-gone"):
            return _needs_change(second, exists) and is_same_file(second.check, first.check)
        case "only-files", ("file-changed" | "file-exists" | "file-gone"):
            allowed = [each.strip() for each in first.check.split(",")]
            return _needs_change(second, exists) and not any(
                is_same_file(second.check, each) or is_same_file(each, second.check) for each in allowed
            )
        case "only-files", "file-unchanged":
            return all(is_same_file(each.strip(), second.check) for each in first.check.split(","))
        case ("file-exists", "file-gone") | ("name-exists", "name-gone"):
            return first.check == second.check
        case (("name-unchanged" | "signature"), "name-gone"):
            return first.check == second.check
        case _:
            return False


def _name(each: Requirement) -> str:
    return f"“{each.text if len(each.text) <= 100 else describe_check(each.kind, each.check)}”"


def _place(each: Requirement) -> str:
    return f"{each.id} ({each.source})"
