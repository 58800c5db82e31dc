"""Versions: written once, put into AGENTS.md or patchwright.toml and taken out, without touching the rest of it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from packages.improve.tune.overlays import DESCRIPTIONS, PROMPTS, STRATEGY, Overlays, parse_rules
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


def test_kinds_of_settings_stand_side_by_side(tmp_path: Path) -> None:
    path = tmp_path / "patchwright.toml"
    path.write_text("max_steps = 9\n")
    kinds = {
        PROMPTS: ['prompts.name = "One \\"name\\"."'],
        DESCRIPTIONS: ['descriptions.edit = "Edit."'],
        STRATEGY: TREE,
    }
    for kind, lines in kinds.items():
        Overlays(tmp_path, kind).save_version(lines, "a")
        Overlays(tmp_path, kind).apply_version(1)
    found = tomllib.loads(path.read_text())
    assert (found["prompts"], found["descriptions"]) == ({"name": 'One "name".'}, {"edit": "Edit."})
    assert (found["strategy"]["name"], found["max_steps"]) == ("tree", 9)
    for kind in kinds:
        Overlays(tmp_path, kind).apply_version(0)
        assert [Overlays(tmp_path, each).find_applied() for each in kinds].count(0) == list(kinds).index(
            kind
        ) + 1
    assert path.read_text() == "max_steps = 9\n"


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


def test_links_out_of_the_repository_are_neither_read_nor_written(tmp_path: Path) -> None:
    root, secret, place = tmp_path / "shop", tmp_path / "secret", tmp_path / "new"
    (root / Overlays(root).folder).mkdir(parents=True)
    secret.write_text("key\n- of somebody\n")
    (root / Overlays(root).folder / "1.md").symlink_to(secret)
    (root / Overlays(root).folder / "2.md").symlink_to(place)
    assert Overlays(root).list_versions() == []
    assert Overlays(root).save_version(["Run the tests."], "a").version == 3
    assert not place.exists()
    other = tmp_path / "cellar"
    other.mkdir()
    (other / ".patchwright").symlink_to(place, target_is_directory=True)
    place.mkdir()
    with pytest.raises(UserError, match="is a link"):
        Overlays(other).save_version(["Run the tests."], "a")
    assert list(place.iterdir()) == []


def test_a_file_that_is_not_utf_8_stays_as_it_is(tmp_path: Path) -> None:
    Overlays(tmp_path).save_version(["Run the tests."], "a")
    (tmp_path / "AGENTS.md").write_bytes(b"caf\xe9\n")
    with pytest.raises(UserError, match="not UTF-8"):
        Overlays(tmp_path).apply_version(1)
    assert (tmp_path / "AGENTS.md").read_bytes() == b"caf\xe9\n"


def test_a_section_is_found_with_the_line_endings_of_windows(tmp_path: Path) -> None:
    Overlays(tmp_path).save_version(["Run the tests."], "a")
    Overlays(tmp_path).apply_version(1)
    (tmp_path / "AGENTS.md").write_bytes((tmp_path / "AGENTS.md").read_bytes().replace(b"\n", b"\r\n"))
    assert Overlays(tmp_path).find_applied() == 1
    Overlays(tmp_path).apply_version(1)
    assert (tmp_path / "AGENTS.md").read_text().count("tune: begin") == 1
