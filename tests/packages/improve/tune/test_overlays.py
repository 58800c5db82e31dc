"""Versions: written once, put into AGENTS.md or patchwright.toml and taken out, without touching the rest of it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from packages.improve.tune.overlays import STRATEGY, Overlays, parse_rules
from sandbox.errors import UserError

OWN = "# Rules of ours\n\nUse tabs.\n"


def test_versions_are_counted_and_kept(tmp_path: Path) -> None:
    Overlays(tmp_path).save_version(["Run the tests."], "50 % to 80 %")
    Overlays(tmp_path).save_version(["Run the tests.", "Say the unit."], "80 % to 90 %")
    assert [(each.version, each.evidence, each.rules) for each in Overlays(tmp_path).list_versions()] == [
        (1, "50 % to 80 %", ("Run the tests.",)),
        (2, "80 % to 90 %", ("Run the tests.", "Say the unit.")),
    ]
    assert (
        tmp_path / ".patchwright/overlays/guideline/1.md"
    ).read_text() == "<!-- 50 % to 80 % -->\n- Run the tests.\n"


def test_a_version_is_applied_in_place_of_another_and_taken_out(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text(OWN)
    Overlays(tmp_path).save_version(["Run the tests."], "a")
    Overlays(tmp_path).save_version([r"Say \1 the unit."], "b")
    for version, rule in ((1, "Run the tests."), (2, r"Say \1 the unit.")):
        Overlays(tmp_path).apply_version(version)
        text = (tmp_path / "AGENTS.md").read_text()
        assert text.startswith(OWN)
        assert f"- {rule}\n" in text
        assert text.count("patchwright tune: begin") == 1
        assert Overlays(tmp_path).find_applied() == version
    Overlays(tmp_path).apply_version(0)
    assert (tmp_path / "AGENTS.md").read_text().strip() == OWN.strip()
    assert Overlays(tmp_path).find_applied() == 0


def test_a_file_of_nothing_else_ends_with_the_version(tmp_path: Path) -> None:
    Overlays(tmp_path).save_version(["Run the tests."], "a")
    Overlays(tmp_path).apply_version(1)
    Overlays(tmp_path).apply_version(0)
    assert not (tmp_path / "AGENTS.md").exists()


def test_an_unknown_version_and_a_link_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no version 3"):
        Overlays(tmp_path).apply_version(3)
    Overlays(tmp_path).save_version(["Run the tests."], "a")
    (tmp_path / "else.md").write_text(OWN)
    (tmp_path / "AGENTS.md").symlink_to("else.md")
    with pytest.raises(UserError, match="is a link"):
        Overlays(tmp_path).apply_version(1)
    assert (tmp_path / "else.md").read_text() == OWN


TREE = ['strategy.name = "tree"', "strategy.attempts = 5"]


def test_a_strategy_stands_above_the_settings_of_the_project_and_is_taken_out(tmp_path: Path) -> None:
    path, own = tmp_path / "patchwright.toml", '# Ours.\n[tests]\ncommand = "make test"\n'
    path.write_text(own)
    overlays = Overlays(tmp_path, STRATEGY)
    overlays.save_version(TREE, "50 % to 80 %")
    overlays.save_version(['strategy.name = "sample"'], "80 % to 90 %")
    assert [list(each.rules) for each in overlays.list_versions()] == [TREE, ['strategy.name = "sample"']]
    assert overlays.list_versions()[0].evidence == "50 % to 80 %"
    for version, name in ((1, "tree"), (2, "sample")):
        overlays.apply_version(version)
        assert overlays.find_applied() == version
        assert tomllib.loads(path.read_text())["strategy"]["name"] == name
        assert path.read_text().endswith(own)
    assert Overlays(tmp_path).list_versions() == []
    overlays.apply_version(0)
    assert (path.read_text(), overlays.find_applied()) == (own, 0)


@pytest.mark.parametrize("own", ["[strategy]\nattempts = 2\n", "strategy.attempts = 2\n"])
def test_a_strategy_is_not_applied_beside_another_value_of_the_same_setting(tmp_path: Path, own: str) -> None:
    path = tmp_path / "patchwright.toml"
    path.write_text(own)
    Overlays(tmp_path, STRATEGY).save_version(TREE, "a")
    with pytest.raises(UserError, match="no TOML"):
        Overlays(tmp_path, STRATEGY).apply_version(1)
    assert path.read_text() == own


def test_a_version_that_is_no_strategy_is_not_applied(tmp_path: Path) -> None:
    Overlays(tmp_path, STRATEGY).save_version(['strategy.name = "forest"'], "a")
    with pytest.raises(UserError, match="forest"):
        Overlays(tmp_path, STRATEGY).apply_version(1)
    assert not (tmp_path / "patchwright.toml").exists()


def test_rules_are_lines_or_items() -> None:
    assert parse_rules("# Title\n\nRun the tests.\nSay the unit.\nRun the tests.\n") == [
        "Run the tests.",
        "Say the unit.",
    ]
    assert parse_rules("Choose:\n\n- Run the tests.\n* Say the unit.\n") == [
        "Run the tests.",
        "Say the unit.",
    ]
