"""Trees, patches and what has to come of them, byte for byte: one folder each, made by `patchwright apply`.

A folder holds `input/` (the tree before; none: empty), `patch.txt`, `expected/` (the tree after), and, where the
patch is to be refused, `refused.txt`: a line for each text that the refusal has to contain. No scenario is told
its format.

The same shape have the scenarios of Codex' apply-patch. Name their folder to run them, too:

    PATCHWRIGHT_CODEX_SCENARIOS=codex-rs/apply-patch/tests/fixtures/scenarios pytest tests/tools/edit/test_scenarios.py

There are three differences: where their patch fails midway and leaves the first half, ours leaves the tree
untouched; theirs replaces a file that exists by a new one or by one that moves there, ours refuses; theirs adds a
final newline to a file that had none, ours does not.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from agent.exit_codes import Exit
from cli.commands.offline.apply import apply_edits
from sandbox.errors import UserError
from tests.sandbox.trees import image

OWN = Path(__file__).parent / "scenarios"
CODEX = os.environ.get("PATCHWRIGHT_CODEX_SCENARIOS", "")
REFUSED = {
    "010_move_overwrites_existing_destination",
    "011_add_overwrites_existing_file",
    "015_failure_after_partial_success_leaves_changes",
}
UNENDED = "014_update_file_appends_trailing_newline"


def folders(root: Path) -> list[Path]:
    """The scenarios in a folder."""
    return sorted(path.parent for path in root.glob("*/patch.txt"))


def named(folder: Path) -> str:
    return folder.name


def files(root: Path) -> dict[str, bytes]:
    """Every file below a folder that may be missing."""
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def laid_out(scenario: Path, tmp_path: Path) -> Path:
    """A copy of the scenario's input."""
    root = tmp_path / "root"
    root.mkdir()
    if (scenario / "input").is_dir():
        shutil.copytree(scenario / "input", root, dirs_exist_ok=True)
    return root


def applied(scenario: Path, root: Path, check: bool = False) -> tuple[int, str]:
    """The exit code of `patchwright apply`, and the message if it could not begin."""
    patch = str(scenario / "patch.txt")
    try:
        return apply_edits(root, patch, form="auto", check=check, exact=False, as_json=False), ""
    except UserError as error:
        return Exit.USAGE, str(error)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", folders(OWN), ids=named)
def test_the_tree_is_as_expected_to_the_last_byte(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = laid_out(scenario, tmp_path)
    before = image(root)
    code, message = applied(scenario, root, check=True)
    assert image(root) == before, "--check wrote"
    said = capsys.readouterr().err + message
    assert applied(scenario, root)[0] == code
    assert files(root) == files(scenario / "expected")
    told = scenario / "refused.txt"
    if told.exists():
        assert code in (Exit.NOT_ACHIEVED, Exit.NOTHING_TO_DO, Exit.USAGE)
        assert image(root) == before
        assert [text for text in told.read_text("utf-8").splitlines() if text not in said] == [], said
    else:
        assert code == Exit.DONE, said


def test_there_are_scenarios_of_every_format_and_refusals_among_them() -> None:
    forms = {folder.name.partition("_")[0].removesuffix("s") for folder in folders(OWN)}
    assert forms == {"patch", "block", "diff"}
    assert len(folders(OWN)) >= 20
    assert len(list(OWN.glob("*/refused.txt"))) >= 5


@pytest.mark.skipif(not CODEX, reason="PATCHWRIGHT_CODEX_SCENARIOS does not name a folder")
@pytest.mark.parametrize("scenario", folders(Path(CODEX)) if CODEX else [], ids=named)
def test_scenarios_of_codex_give_the_same_tree(scenario: Path, tmp_path: Path) -> None:
    root = laid_out(scenario, tmp_path)
    before = image(root)
    code, _ = applied(scenario, root)
    if scenario.name in REFUSED:
        assert code == Exit.NOT_ACHIEVED
        assert image(root) == before
        return
    expected = files(scenario / "expected")
    if scenario.name == UNENDED:
        expected = {name: content.removesuffix(b"\n") for name, content in expected.items()}
    assert files(root) == expected
