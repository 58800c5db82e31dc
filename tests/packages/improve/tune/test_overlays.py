"""Versions of a guideline: written once, put into AGENTS.md and taken out, without touching the rest of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from packages.improve.tune.overlays import (
    FOLDER,
    apply_overlay,
    find_applied,
    list_overlays,
    parse_rules,
    save_overlay,
)
from sandbox.errors import UserError

OWN = "# Rules of ours\n\nUse tabs.\n"


def test_versions_are_counted_and_kept(tmp_path: Path) -> None:
    save_overlay(tmp_path, ["Run the tests."], "50 % to 80 %")
    save_overlay(tmp_path, ["Run the tests.", "Say the unit."], "80 % to 90 %")
    assert [(each.version, each.evidence, each.rules) for each in list_overlays(tmp_path)] == [
        (1, "50 % to 80 %", ("Run the tests.",)),
        (2, "80 % to 90 %", ("Run the tests.", "Say the unit.")),
    ]
    assert (tmp_path / FOLDER / "1.md").read_text() == "<!-- 50 % to 80 % -->\n- Run the tests.\n"


def test_a_version_is_applied_in_place_of_another_and_taken_out(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text(OWN)
    save_overlay(tmp_path, ["Run the tests."], "a")
    save_overlay(tmp_path, [r"Say \1 the unit."], "b")
    for version, rule in ((1, "Run the tests."), (2, r"Say \1 the unit.")):
        apply_overlay(tmp_path, version)
        text = (tmp_path / "AGENTS.md").read_text()
        assert text.startswith(OWN)
        assert f"- {rule}\n" in text
        assert text.count("patchwright tune: begin") == 1
        assert find_applied(tmp_path) == version
    apply_overlay(tmp_path, 0)
    assert (tmp_path / "AGENTS.md").read_text().strip() == OWN.strip()
    assert find_applied(tmp_path) == 0


def test_a_file_of_nothing_else_ends_with_the_version(tmp_path: Path) -> None:
    save_overlay(tmp_path, ["Run the tests."], "a")
    apply_overlay(tmp_path, 1)
    apply_overlay(tmp_path, 0)
    assert not (tmp_path / "AGENTS.md").exists()


def test_an_unknown_version_and_a_link_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no version 3"):
        apply_overlay(tmp_path, 3)
    save_overlay(tmp_path, ["Run the tests."], "a")
    (tmp_path / "else.md").write_text(OWN)
    (tmp_path / "AGENTS.md").symlink_to("else.md")
    with pytest.raises(UserError, match="is a link"):
        apply_overlay(tmp_path, 1)
    assert (tmp_path / "else.md").read_text() == OWN


def test_rules_are_lines_or_items() -> None:
    assert parse_rules("# Title\n\nRun the tests.\nSay the unit.\nRun the tests.\n") == [
        "Run the tests.",
        "Say the unit.",
    ]
    assert parse_rules("Choose:\n\n- Run the tests.\n* Say the unit.\n") == [
        "Run the tests.",
        "Say the unit.",
    ]
