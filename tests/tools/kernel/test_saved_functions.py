"""Functions kept for later sessions: only with a test that passes, only after approval, only while it passes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli import call, run, script
from tests.support.confined import needs_confinement
from tests.support.repo import Repo
from tests.tools.kernel.kernels import Kernel
from tools.kernel.saved_functions import FunctionStore, SavedFunction, load_all_functions, search_functions

WORDS = '''\
def words_of(path):
    """The words of a file."""
    return read(path).split()
'''
TEST = "assert words_of('notes.txt') == ['one', 'two']"


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """For tests that keep nothing."""
    with Kernel(tmp_path_factory.mktemp("keeping") / "shop") as kernel:
        (kernel.at.root / "notes.txt").write_text("one two\n")
        kernel.text("def helper_of_the_session(): return True")
        yield kernel


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "shop")
    repo.write("notes.txt", "one two\n")
    repo.commit_all()
    return repo


@pytest.mark.slow
def test_a_function_that_works_is_there_in_the_next_session(repo: Repo) -> None:
    with Kernel(repo.root) as kernel:
        assert kernel.text(f"{WORDS}keep_function(words_of, {TEST!r}).kept") == "=> 'words_of'"
    with Kernel(repo.root) as kernel:
        assert kernel.text("words_of('notes.txt')") == "=> ['one', 'two']"
        assert kernel.text("[(f['name'], f['about']) for f in kept_functions('words')]") == (
            "=> [('words_of', 'The words of a file.')]"
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "test", "said"),
    [
        (WORDS, "assert words_of('notes.txt') == []", "its test fails in a fresh kernel"),
        (WORDS.replace("words_of", "word_list"), "assert helper_of_the_session()", "NameError"),
        (WORDS, " ", "without a test"),
        ("words = 1", TEST, "has to define one function"),
        ("def broken(:", TEST, "keep_function: "),
        (WORDS.replace("words_of", "read"), TEST, "is the name of a tool"),
        (WORDS, "write('notes.txt', 'changed')", "a test of a kept function may only read"),
        (WORDS, "import os; os._exit(1)", "exit status 1"),
    ],
)
def test_what_does_not_prove_itself_is_not_kept(kernel: Kernel, source: str, test: str, said: str) -> None:
    observation = kernel.run(f"keep_function({source!r}, {test!r})")
    assert said in observation.text
    assert load_all_functions(kernel.at.folders.saved_functions) == []
    assert (kernel.at.root / "notes.txt").read_text() == "one two\n"


@pytest.mark.slow
def test_a_test_that_writes_past_the_tools_changes_nothing(kernel: Kernel, tmp_path: Path) -> None:
    needs_confinement(tmp_path)
    observation = kernel.run(f"keep_function({WORDS!r}, \"open('notes.txt', 'w').write('changed')\")")
    assert "its test fails in a fresh kernel" in observation.text
    assert (kernel.at.root / "notes.txt").read_text() == "one two\n"


@pytest.mark.slow
def test_when_the_project_moves_on_a_function_is_checked_again(repo: Repo) -> None:
    with Kernel(repo.root) as kernel:
        kernel.text(f"{WORDS}keep_function(words_of, {TEST!r})\nNone")
    repo.write("notes.txt", "three\n")
    repo.commit_all()
    with Kernel(repo.root) as kernel:
        observation = kernel.run("words_of")
        assert "[kept function words_of fails its test now: " in observation.text
        assert "NameError" in observation.text
    repo.write("notes.txt", "one two\n")
    repo.commit_all()
    with Kernel(repo.root) as kernel:
        assert kernel.text("len(words_of('notes.txt'))") == "=> 2"


def test_a_shelf_leaves_alone_what_it_cannot_read(tmp_path: Path) -> None:
    shelf = FunctionStore(tmp_path)
    assert shelf.load_functions() == []
    shelf.put(SavedFunction(name="good", source="def good(): pass", test="good()", scope="user"))
    (tmp_path / "torn.json").write_text('{"name": "torn", "sou')
    (tmp_path / "other.json").write_text(
        '{"name": "evil", "source": "def evil(): pass", "test": "", "scope": "user"}'
    )
    assert [each.name for each in shelf.load_functions()] == ["good"]
    assert search_functions(shelf.load_functions(), "go od") != []
    assert not shelf.remove("../good")
    assert shelf.remove("good")
    assert shelf.load_functions() == []


@pytest.mark.slow
def test_nobody_there_to_approve_means_that_nothing_is_kept(repo: Repo, tmp_path: Path) -> None:
    needs_confinement(tmp_path)
    code = f"{WORDS}keep_function(words_of, {TEST!r})"
    turns = [{"calls": [call("python", code=code)]}, {"text": "Not kept.", "expect": ["nobody can be asked"]}]
    result = run("run", "keep it", "--model", script(tmp_path, turns), cwd=repo.root)
    assert "Not kept." in result.out, result.err
    assert run("functions", "list", cwd=repo.root).code == 3


@pytest.mark.slow
def test_the_user_lists_searches_verifies_and_removes(repo: Repo, tmp_path: Path) -> None:
    needs_confinement(tmp_path)
    blocks = tmp_path / "keep.py"
    blocks.write_text(f"{WORDS}# %%\nkeep_function(words_of, {TEST!r}, scope='user')\n")
    done = run("kernel", str(blocks), "--mode", "full", cwd=repo.root)
    assert done.code == 0, done.out + done.err
    assert run("functions", "list", cwd=repo.root).out == "words_of (user): The words of a file.\n"
    assert run("functions", "list", "no such", cwd=repo.root).code == 3
    assert "# its test:" in run("functions", "show", "words_of", cwd=repo.root).out
    assert run("functions", "verify", cwd=repo.root).code == 0
    repo.write("notes.txt", "three\n")
    failed = run("functions", "verify", cwd=repo.root)
    assert (failed.code, "FAILS: " in failed.out) == (1, True)
    assert run("functions", "remove", "words_of", cwd=repo.root).code == 0
    missing = run("functions", "remove", "words_of", cwd=repo.root)
    assert (missing.code, missing.err.count("\n")) == (2, 2)
