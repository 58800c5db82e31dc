"""Edits of one file at once come one after another, and a refused call leaves the tree as it was."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.exit_codes import Exit
from cli.commands.offline.apply import apply_edits
from tests.sandbox.trees import image
from tests.support.cli import PATCHWRIGHT, environment
from tests.support.edit_rendering import render_patch
from tests.support.stress import count_cases
from tests.tools.edit.drawn import Drawn, edits
from tests.tools.workspaces import call, workspace
from tools.edit.edit_model import Update
from tools.edit.edit_tools import edit

pytestmark = pytest.mark.slow

STRESS = int(os.environ.get("PATCHWRIGHT_STRESS", "1"))
WORKERS = 8


def added(text: str) -> list[str]:
    """The lines that the workers put before the end, in the order in which they came."""
    lines = text.splitlines()
    assert lines[0] == "begin"
    assert lines[-1] == "end"
    return lines[1:-1]


def test_threads_that_edit_one_file_lose_nothing(tmp_path: Path) -> None:
    first = workspace(tmp_path, {"a.txt": "begin\nend\n"})
    places = [first, *(workspace(tmp_path) for _ in range(WORKERS - 1))]
    rounds = 5 * STRESS

    def work(number: int) -> None:
        for turn in range(rounds):
            call(edit, places[number], path="a.txt", old="end\n", new=f"worker {number} turn {turn}\nend\n")

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(work, range(WORKERS)))
    lines = added((first.root / "a.txt").read_text())
    assert sorted(lines) == sorted(f"worker {n} turn {t}" for n in range(WORKERS) for t in range(rounds))
    for number in range(WORKERS):
        own = [line for line in lines if line.startswith(f"worker {number} ")]
        assert own == [f"worker {number} turn {turn}" for turn in range(rounds)]


def test_processes_that_patch_one_tree_lose_nothing(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    names = ("a.txt", "b.txt")
    for name in names:
        (root / name).write_text("begin\nend\n")
    running = []
    for number in range(4 * STRESS):
        body = "".join(f"*** Update File: {name}\n@@\n+worker {number}\n end\n" for name in names)
        patch = tmp_path / f"{number}.patch"
        patch.write_text(f"*** Begin Patch\n{body}*** End Patch\n")
        argv = [*PATCHWRIGHT, "apply", str(patch)]
        running.append(subprocess.Popen(argv, cwd=root, env=environment(), stdout=subprocess.DEVNULL))
    assert [process.wait() for process in running] == [Exit.DONE] * len(running)
    orders = [added((root / name).read_text()) for name in names]
    assert sorted(orders[0]) == sorted(f"worker {number}" for number in range(len(running)))
    assert orders[0] == orders[1]  # both files by one after the other, never one by each


@settings(max_examples=count_cases(25))
@given(st.lists(edits(), min_size=1, max_size=4), st.integers(0, 100), st.sampled_from([0o600, 0o644, 0o755]))
def test_a_patch_of_which_one_file_does_not_fit_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[Drawn], where: int, mode: int
) -> None:
    folder = tmp_path_factory.mktemp("refused")
    root = folder / "root"
    root.mkdir()
    sections = []
    for number, each in enumerate(drawn):
        path = root / f"{number}.txt"
        path.write_text(each.text)
        path.chmod(mode)
        sections.append(
            render_patch([Update(path=path.name, edits=(replace(each.hunk(), appends=True),))]).splitlines()[
                1:-1
            ]
        )
    wrong = ["*** Update File: 0.txt", "@@", "-nothing like this stands in any file ever", "+x"]
    sections.insert(where % (len(sections) + 1), wrong)
    sections.insert(0, ["*** Add File: new/file.txt", "+new"])
    patch = folder / "all.patch"
    patch.write_text(
        "\n".join(
            ["*** Begin Patch", *(line for section in sections for line in section), "*** End Patch", ""]
        )
    )
    before = image(root)
    code = apply_edits(root, str(patch), form="auto", check=False, exact=False, as_json=False)
    assert code == Exit.NOT_ACHIEVED
    assert image(root) == before
