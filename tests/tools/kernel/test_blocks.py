"""Blocks of code: what stays between them, what they show, and the tools as functions in them."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import tools.kernel
from sandbox.policy.decision import Mode
from tests.support.repo import Repo
from tests.tools.kernel.kernels import Kernel


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """One for the whole module: tests in it use names of their own."""
    repo = Repo(tmp_path_factory.mktemp("kernel") / "shop")
    repo.write("cart.py", "def total(items):\n    return sum(items)\n")
    repo.write("src/shop_lib.py", "ANSWER = 42\n")
    repo.write("test_cart.py", "from cart import total\n\ndef test_total():\n    assert total([1, 2]) == 4\n")
    repo.write("out/readme", "a folder: under Landlock commands make no files beside .git\n")
    repo.commit_all()
    with Kernel(repo.root) as kernel:
        yield kernel


@pytest.mark.slow
def test_what_a_block_defines_is_there_in_the_next(kernel: Kernel) -> None:
    kernel.text("import math\nside = 3\ndef area(r):\n    return round(math.pi * r * r, 2)")
    assert kernel.text("area(side)") == "=> 28.27"


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("1 + 1", "=> 2"),
        ("None", ""),
        ("shown = 5", ""),
        ("print('said'); 'value'", "said\n=> 'value'"),
        ("import sys; print('to stderr', file=sys.stderr)", "to stderr"),
        ("import os; _ = os.system('echo from a child')", "from a child"),
        ("import asyncio\nawait asyncio.sleep(0, 'awaited')", "=> 'awaited'"),
        ("import sys; sys.exit(0)", ""),
        ("__name__", "=> '__main__'"),
    ],
)
def test_the_last_expression_and_all_output_are_shown(kernel: Kernel, code: str, shown: str) -> None:
    assert kernel.text(code) == shown


def test_a_long_value_is_cut_and_a_huge_one_is_not_even_built(kernel: Kernel) -> None:
    assert "characters more" in kernel.text("['x' * 100] * 150")
    assert len(kernel.text("list(range(10**6))")) < 3000


@pytest.mark.slow
def test_long_output_is_cut_and_kept_whole(kernel: Kernel) -> None:
    observation = kernel.run("for number in range(40_000):\n    print('line', number)")
    assert len(observation.text) < 20_000
    assert observation.text.rstrip().endswith("line 39999")
    path = kernel.at.artifacts.find_file(observation.ref)
    assert path is not None
    assert path.read_bytes().count(b"\n") == 40_000


def test_an_error_shows_the_users_own_lines_and_no_others(kernel: Kernel) -> None:
    observation = kernel.run("def broken():\n    return {}['key']\nbroken()")
    assert observation.failed
    assert "return {}['key']" in observation.text
    assert "KeyError: 'key'" in observation.text
    assert "patchwright_kernel" not in observation.text


def test_an_error_whose_text_cannot_be_made_is_told_all_the_same(kernel: Kernel) -> None:
    observation = kernel.run("class Odd(Exception):\n    def __str__(self): 1/0\nraise Odd")
    assert observation.failed
    assert "Odd" in observation.text


def test_a_syntax_error_runs_nothing(kernel: Kernel) -> None:
    observation = kernel.run("before_it = 1\ndef broken(:")
    assert "SyntaxError" in observation.text
    assert kernel.text("'before_it' in globals()") == "=> False"


def test_nobody_is_asked_for_input(kernel: Kernel) -> None:
    assert "nobody can answer" in kernel.run("input('name? ')").text


def test_code_of_the_project_is_imported_from_the_workspace_and_from_src(kernel: Kernel) -> None:
    assert kernel.text("import cart, shop_lib\ncart.total([shop_lib.ANSWER])") == "=> 42"


@pytest.mark.slow
def test_a_project_whose_files_are_called_like_library_modules_has_a_kernel(tmp_path: Path) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    for name in ("json", "traceback", "linecache", "threading", "signal", "collections", "entry", "channel"):
        (root / f"{name}.py").write_text("raise RuntimeError('imported in place of the library')\n")
    with Kernel(root) as kernel:
        assert "ZeroDivisionError" in kernel.run("print(read('json.py'))\n1/0").text
        assert "imported in place of the library" in kernel.run("import entry").text


def test_a_picture_and_a_table_are_kept_as_artifacts(kernel: Kernel) -> None:
    picture = "class Plot:\n    def _repr_png_(self):\n        return b'\\x89PNG bytes'\nPlot()"
    observation = kernel.run(picture)
    [ref] = observation.data["pictures"]
    path = kernel.at.artifacts.find_file(ref)
    assert path is not None
    assert path.read_bytes() == b"\x89PNG bytes"
    table = "class DataFrame:\n    def to_csv(self):\n        return 'a,b\\n1,2\\n'\nDataFrame()"
    assert 'the whole table: recall(ref="out:' in kernel.run(table).text


@pytest.mark.slow
def test_tools_are_functions_that_return_objects(kernel: Kernel) -> None:
    kernel.text("from patchwright_tools import read as reading\nassert reading is read")
    assert kernel.text("read('cart.py')") == "=> 'def total(items):\\n    return sum(items)\\n'"
    assert kernel.text("read('cart.py', start=2, end=2)") == "=> '    return sum(items)\\n'"
    assert kernel.text("[(m.path, m.line) for m in search('def total')]") == "=> [('cart.py', 1)]"
    assert "'src/shop_lib.py'" in kernel.text("list_files()")
    assert (
        kernel.text("shell('echo out; exit 3')") == "=> ShellResult(exit=3, output='out\\n', ended='exited')"
    )
    assert kernel.text("report = run_tests()\nreport.outcome, report.failed, report.failures[0].id") == (
        "=> ('failed', 1, 'test_cart.py::test_total')"
    )
    assert kernel.text("'dead' in git_diff(), git_status().branch") == "=> (False, 'main')"


def test_a_tool_that_fails_raises(kernel: Kernel) -> None:
    code = "try:\n    read('nowhere.py')\nexcept ToolError as error:\n    print('caught:', error)"
    assert kernel.text(code).startswith("caught: read: ")
    assert "ToolError: read: " in kernel.run("read('nowhere.py')").text


def test_functions_know_their_arguments_and_documentation(kernel: Kernel) -> None:
    told = kernel.text("import inspect\nprint(inspect.signature(read))\nprint(read.__doc__)")
    assert told.startswith("(path, start=1, end=None)\nRead a text file")
    assert "missing 1 required positional argument" in kernel.run("read()").text


def test_every_call_is_an_action_in_the_log_of_its_own(kernel: Kernel) -> None:
    kernel.log.clear()
    observation = kernel.run("for _ in range(3):\n    read('cart.py')")
    calls = [entry for entry in kernel.log if entry[0] == "action"]
    outer = calls[0][1]
    assert calls == [("action", outer, "python"), *[("action", f"{outer}/{n}", "read") for n in (1, 2, 3)]]
    assert observation.data["calls"] == 3


def test_threads_may_call_tools_too(kernel: Kernel) -> None:
    code = (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(4) as pool:\n"
        "    texts = list(pool.map(read, ['cart.py'] * 12))\n"
        "len(set(texts)), len(texts)"
    )
    assert kernel.text(code) == "=> (1, 12)"


def test_a_kernel_runs_no_kernel(kernel: Kernel) -> None:
    assert kernel.text("'python' in dir()") == "=> False"
    forged = "import patchwright_tools\npatchwright_tools.read.__globals__['_call']('python', {'code': '1'})"
    assert "cannot be called from a kernel" in kernel.run(forged).text


def test_what_plain_python_writes_belongs_to_the_session(kernel: Kernel) -> None:
    observation = kernel.run(
        "open('out/made.txt', 'w').write('by hand')\nwrite('out/told.txt', 'by tool\\n')\nNone"
    )
    assert sorted(observation.data["changed"]) == ["out/made.txt", "out/told.txt"]
    assert kernel.at.changes.originals["out/made.txt"] is None


@pytest.mark.slow
def test_a_commit_from_within_takes_in_what_the_block_wrote_before_it(kernel: Kernel) -> None:
    code = (
        "open('out/committed.txt', 'w').write('early')\n"
        "done = git_commit('Add a file')\n"
        "open('out/later.txt', 'w').write('late')\n"
        "done.commit"
    )
    observation = kernel.run(code)
    assert observation.text.startswith("ok"), observation.text
    assert "out/committed.txt" not in observation.data["changed"]
    assert "out/later.txt" in observation.data["changed"]
    repo = Repo(kernel.at.root, init=False)
    assert "out/committed.txt" in repo.committed()
    assert "out/later.txt" not in repo.committed()


def test_what_a_failed_block_changed_can_be_put_back(kernel: Kernel) -> None:
    kernel.text("write('out/branch.txt', 'before\\n')\nNone")
    broken = "write('out/branch.txt', 'half done\\n')\nopen('out/debris.txt', 'w').write('x')\n1 / 0"
    assert kernel.run(broken).failed
    assert kernel.text("sorted(put_back())") == "=> ['out/branch.txt', 'out/debris.txt']"
    assert (kernel.at.root / "out/branch.txt").read_text() == "before\n"
    assert not (kernel.at.root / "out/debris.txt").exists()
    assert "no command that failed has changed anything" in kernel.run("put_back()").text


def test_what_a_person_changed_since_is_not_put_back(kernel: Kernel) -> None:
    kernel.run("open('out/shared.txt', 'w').write('by the block')\n1 / 0")
    (kernel.at.root / "out/shared.txt").write_text("by a person")
    assert "nothing was taken back: out/shared.txt" in kernel.run("put_back()").text
    assert (kernel.at.root / "out/shared.txt").read_text() == "by a person"


def test_finish_from_within_ends_the_turn(kernel: Kernel) -> None:
    observation = kernel.run("finish('all done')")
    assert observation.data["ends"] is True
    assert observation.data["summary"] == "all done"


def test_no_code_and_a_senseless_limit_are_refused(kernel: Kernel) -> None:
    assert "the code is empty" in kernel.run(" ").text
    assert "timeout must be" in kernel.run("1", timeout=0).text


@pytest.mark.slow
def test_in_a_read_only_session_a_block_writes_nothing(tmp_path: Path) -> None:
    with Kernel(tmp_path / "shop", mode=Mode.READ_ONLY) as kernel:
        if kernel.at.sandbox.name == "unconfined":
            pytest.skip("there is nothing here that confines commands")
        observation = kernel.run("open('made.txt', 'w')")
        assert "Error" in observation.text
        assert not (tmp_path / "shop" / "made.txt").exists()
        assert "denied" in kernel.run("write('told.txt', 'x')").text


@pytest.mark.parametrize(
    "file",
    sorted((Path(tools.kernel.__file__).parent / "patchwright_kernel").glob("*.py")),
    ids=os.path.basename,
)
def test_the_inside_is_python_3_8(file: Path) -> None:
    ast.parse(file.read_text("utf-8"), feature_version=(3, 8))
