"""The user's rules for a session: those in settings files, and those in the file of rules of a trusted project."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agent.app_dirs import Home
from cli.settings.settings_files import FILE, PROJECT_FILE, RULES_FILE, read_settings_file
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.trust import Definition, TrustStore, compute_digest

KEY = "rules"
"""Key of the rules in each of the files: an array of tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleTables:
    """Rules of one file, as written. notice: why they are not used, "" if they are"""

    tables: Sequence[Mapping[str, Any]] = ()
    notice: str = ""


def collect_rules(
    home: Home, root: Path | None, user: Mapping[str, Any], project: Mapping[str, Any]
) -> tuple[list[tuple[str, Sequence[Mapping[str, Any]]]], tuple[str, ...]]:
    """Return the rules by their file, and notices about those that are not used. Raises UserError.

    user, project: content of the settings files, as far as it applies
    """
    found = [(home.config / FILE, user.get(KEY, ()))]
    notices: list[str] = []
    if root is not None:
        read = read_rules_file(home, root)
        found += [(root / PROJECT_FILE, project.get(KEY, ())), (root / RULES_FILE, read.tables)]
        notices += [read.notice] if read.notice else []
    return [(repr(str(path)), tables) for path, tables in found if tables], tuple(notices)


def read_rules_file(home: Home, root: Path) -> RuleTables:
    """Return the rules of a project's own file, if the user trusts it as it is.

    A linked work tree without the file has that of the main one. One that was never trusted is not even parsed. Raises
    UserError for a file that has changed or gone since it was trusted: its rules would silently be gone, too.
    """
    place, store = _find_place(root) or root, TrustStore(home.config)
    path = place / RULES_FILE
    command = f"patchwright trust -C {str(root)!r}"
    trusted = [store.read_trusted_digest(each / RULES_FILE) for each in _list_trusted_places(root, place)]
    unused = (
        f"{RULES_FILE} is not used, since you have not trusted it: {command}" if os.path.lexists(path) else ""
    )
    if not any(trusted):
        return RuleTables(notice=unused)
    try:
        tables = _read_tables(path)
    except UserError:  # it was none that could be trusted
        tables = []
    if tables and compute_digest(_list_definitions(tables)) in trusted:
        return RuleTables(tables=tables)
    if not trusted[0]:  # a linked work tree has other rules than the main one
        return RuleTables(notice=unused)
    word = "changed" if os.path.lexists(path) else "gone"
    raise UserError(
        Fault.CONFIGURATION,
        f"{str(path)!r} has {word} since you trusted it, with rules that are not used now",
        f"See what it says now, and say yes: {command}",
    )


def find_rules_to_trust(root: Path) -> tuple[Definition, ...]:
    """Return the rules of the project's file, each with its text. Raises UserError if it is invalid."""
    tables = _read_tables(root / RULES_FILE)
    if tables:
        from agent.rules.rule_parsing import check_rules, parse_rules

        check_rules(parse_rules(tables, repr(str(root / RULES_FILE))))
    return _list_definitions(tables)


def _find_place(root: Path) -> Path | None:
    """Return the work tree whose file of rules applies, None if there is none."""
    if (root / RULES_FILE).is_file():
        return root
    if not (root / ".git").is_file():  # no linked work tree
        return None
    main = _find_main(root)
    return main if main is not None and (main / RULES_FILE).is_file() else None


def _list_trusted_places(root: Path, place: Path) -> list[Path]:
    main = _find_main(root) if (root / ".git").is_file() else None
    return list(dict.fromkeys(each for each in (place, main) if each is not None))


def _find_main(root: Path) -> Path | None:
    from sandbox.fs.repository import find_main_work_tree

    return find_main_work_tree(root)


def _read_tables(path: Path) -> list[Mapping[str, Any]]:
    values = read_settings_file(path)
    if other := sorted(set(values) - {KEY}):
        raise UserError(
            Fault.CONFIGURATION,
            f"{str(path)!r} sets {other[0]!r}, but holds rules only",
            "Write each as a table [[rules]]; settings belong into patchwright.toml.",
        )
    tables = values.get(KEY, [])
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise UserError(Fault.CONFIGURATION, f"{str(path)!r}: rules are tables", "Write each as [[rules]].")
    return tables


def _list_definitions(tables: Sequence[Mapping[str, Any]]) -> tuple[Definition, ...]:
    import hashlib
    import json

    found = []
    for number, table in enumerate(tables, 1):
        text = json.dumps(table, sort_keys=True, ensure_ascii=False, default=str)
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        name = f"{RULES_FILE} {table.get('name') or number}"
        found.append(Definition(kind="setting", name=name, runs=text, digest=digest))
    return tuple(found)
