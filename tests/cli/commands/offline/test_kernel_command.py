"""`patchwright kernel` as a user runs it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cli.commands.offline.kernel import split_blocks
from tests.support.cli import run
from tests.support.confined import needs_confinement
from tests.support.repo import Repo

SCRIPT = """\
# %% look
names = [match.path for match in search("def total")]
# %%
names
"""


def steady(out: str) -> str:
    """Without the seconds that a block on a busy machine is said to have taken."""
    return re.sub(r" after [0-9.]+ s$", "", out, flags=re.MULTILINE)


@pytest.mark.parametrize(
    ("text", "markdown", "blocks"),
    [
        ("a = 1\n", False, ["a = 1\n"]),
        ("a = 1\n# %% second\nb = 2\n#%%\n\n# %%\nc", False, ["a = 1\n", "\nb = 2\n", "\nc"]),
        ("Text\n```python\na = 1\n```\nmore\n```sh\nls\n```\n```python\nb\n```\n", True, ["a = 1\n", "b\n"]),
        ("# no block\n", True, []),
    ],
)
def test_a_script_is_parted_into_blocks(text: str, markdown: bool, blocks: list[str]) -> None:
    assert list(split_blocks(text, markdown=markdown)) == blocks


@pytest.fixture(autouse=True)
def confined(tmp_path: Path) -> None:
    needs_confinement(tmp_path)


@pytest.mark.slow
def test_blocks_run_and_share_their_state(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "shop")
    repo.write("cart.py", "def total():\n    return 1\n")
    (tmp_path / "look.py").write_text(SCRIPT)
    result = run("kernel", str(tmp_path / "look.py"), cwd=repo.root)
    assert (result.code, steady(result.out)) == (0, "[1] ok\n[2] ok\n=> ['cart.py']\n"), result.err


@pytest.mark.slow
def test_a_failing_block_ends_the_script_with_its_own_code(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "shop")
    script = "1 / 0\n# %%\nprint('after')\n"
    result = run("kernel", "-", "--json", cwd=repo.root, stdin=script)
    assert result.code == 13
    [told] = map(json.loads, result.out.splitlines())
    assert (told["block"], told["ended"]) == (1, "error")
    assert "ZeroDivisionError" in told["text"]
    result = run(
        "kernel", "-", "--keep-going", "--memory", "256", cwd=repo.root, stdin=script + "# %%\nbytes(1 << 30)"
    )
    assert result.code == 13
    assert "[2] ok\nafter" in steady(result.out)
    assert "MemoryError" in result.out


@pytest.mark.slow
def test_what_cannot_be_run_is_said_in_a_line(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "shop")
    result = run("kernel", "nowhere.py", cwd=repo.root)
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "cannot read 'nowhere.py'" in result.err
    assert "no blocks" in run("kernel", "-", cwd=repo.root, stdin="# %%\n").err
