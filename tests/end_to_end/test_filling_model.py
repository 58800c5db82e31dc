"""A real coding model fills in the line that no template knows, from nothing but its file and llama.cpp's server.

    PATCHWRIGHT_TEST_GGUF=FILE python -m pytest tests/end_to_end/test_filling_model.py

FILE: a model that was trained to fill gaps, of half a billion parameters or more. Slowness is no finding: a run that
its limit ended proves nothing, and is skipped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.exit_codes import Exit
from agent.model.gguf.own_server import end_server, list_servers
from agent.model.gguf.server_program import VARIABLE, find_server_program
from sandbox.errors import UserError
from sandbox.helpers.helper_confinement import find_confinement
from tests.support.cli import run
from tests.support.repo import Repo

FILE = os.environ.get("PATCHWRIGHT_TEST_GGUF", "")
LIMIT = 150


def find_program() -> tuple[str, str]:
    """Return llama.cpp's server, and why no model can be tried here, "" if one can."""
    if not FILE:
        return "", "PATCHWRIGHT_TEST_GGUF names no model's file"
    if not Path(FILE).is_file():
        return "", f"PATCHWRIGHT_TEST_GGUF: there is no {FILE}"
    if not find_confinement():
        return "", "the kernel cannot confine a model's server"
    try:
        return find_server_program(os.environ), ""
    except UserError as error:
        return "", error.message


PROGRAM, OBSTACLE = find_program()  # before a test has another home

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filling_model,
    pytest.mark.timeout(2 * LIMIT),
    pytest.mark.skipif(bool(OBSTACLE), reason=f"no filling model: {OBSTACLE}"),
]

CODE = '''\
def join_words(words, separator=" "):
    """Return the words as one text, with the separator between them."""
    return words
'''
TESTS = """\
from text import join_words


def test_words():
    assert join_words(["a", "b"]) == "a b"


def test_separator():
    assert join_words(["a", "b", "c"], "-") == "a-b-c"


def test_nothing():
    assert join_words([]) == ""
"""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Variables under which a server is started that ends with the test."""
    env = {"PATCHWRIGHT_HOME": str(tmp_path / "home"), VARIABLE: PROGRAM}
    yield env
    for each in list_servers(env):
        end_server(each)


def test_a_line_is_filled_in_and_is_right(home: dict[str, str], tmp_path: Path) -> None:
    repo = Repo(tmp_path / "shop")
    repo.write("text.py", CODE)
    repo.write("test_text.py", TESTS)
    repo.commit_all()
    result = run(
        "run", "make the tests pass", "--model", f"gguf:{FILE}", "--max-time", str(LIMIT),
        cwd=repo.root, env=home, timeout=2 * LIMIT,
    )  # fmt: skip
    if result.code == Exit.LIMIT:
        pytest.skip(f"the machine is too busy: {result.err.splitlines()[-1]}")
    assert result.code == Exit.DONE, result.err
    assert repo.git("diff", "--name-only", "HEAD~1").split() == ["text.py"]
    names: dict[str, Any] = {}
    exec(compile(repo.read("text.py"), "text.py", "exec"), names)
    assert names["join_words"](("x", "y"), ", ") == "x, y", "a call that no test makes"
