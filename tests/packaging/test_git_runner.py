"""git is started by one module, `sandbox.process.git_runner`; through GitPython by the broker alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.packaging.test_import_graph import ROOT, read_modules

RUNNER = "sandbox.process.git_runner"
GITPYTHON = {"tools.git.broker"}

STARTERS = {
    "run",
    "Popen",
    "call",
    "check_call",
    "check_output",
    "getoutput",
    "getstatusoutput",
    "system",
    "popen",
}
STARTERS |= {
    f"{kind}{form}" for kind in ("exec", "spawn") for form in ("l", "le", "lp", "lpe", "v", "ve", "vp")
}
STARTERS |= {
    "execvpe",
    "spawnvpe",
    "posix_spawn",
    "posix_spawnp",
    "create_subprocess_exec",
    "create_subprocess_shell",
}
LIBRARIES = {"subprocess", "os", "asyncio"}
LOOKUPS = {"require_own_program", "find_own_program", "which"}


def find_starts_of_git(text: str) -> list[int]:
    """Return the lines on which a module starts git, looks its program up, or imports GitPython."""
    tree = ast.parse(text)
    starts = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_start(node)]
    found = [node.lineno for node in ast.walk(tree) if _is_lookup(node) or _is_gitpython(node)]
    found += [start.lineno for start in starts if any(map(_names_git, _list_commands(start)))]
    if starts:  # a command that was put together first
        lists = [node for node in ast.walk(tree) if isinstance(node, ast.List | ast.Tuple)]
        found += [node.lineno for node in lists if node.elts and _names_git(node.elts[0])]
    return sorted(set(found))


def _is_start(call: ast.Call) -> bool:
    match call.func:
        case ast.Attribute(value=ast.Name(id=library), attr=name):
            return library in LIBRARIES and name in STARTERS
        case ast.Name(id=name):  # imported by its name
            return name in STARTERS - {"run", "call"}
    return False


def _list_commands(call: ast.Call) -> Iterator[ast.AST]:
    for argument in (*call.args, *(each.value for each in call.keywords)):
        yield argument
        if isinstance(argument, ast.List | ast.Tuple):
            yield from argument.elts[:1]


def _names_git(node: ast.AST) -> bool:
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)):
        return False
    text = node.value if isinstance(node.value, str) else node.value.decode()
    return text.split(" ")[0].rpartition("/")[2] == "git"


def _is_lookup(node: ast.AST) -> bool:
    if not (isinstance(node, ast.Call) and node.args and _names_git(node.args[0])):
        return False
    return (
        node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    ) in LOOKUPS


def _is_gitpython(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return any(each.name.partition(".")[0] == "git" for each in node.names)
    return (
        isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").partition(".")[0] == "git"
    )


@pytest.mark.slow
def test_only_the_runner_starts_git() -> None:
    modules = read_modules(ROOT)
    found = {
        name: lines
        for name, path in modules.items()
        if name != RUNNER and (lines := find_starts_of_git(path.read_text("utf-8")))
    }
    assert found.keys() == GITPYTHON, found
    assert find_starts_of_git(modules[RUNNER].read_text("utf-8"))


@pytest.mark.parametrize(
    "text",
    [
        'subprocess.run(["git", "status"])',
        'subprocess.run(args=["/usr/bin/git"])',
        'command = ["git", "log"]\nsubprocess.Popen(command)',
        'Popen(("git", "log"))',
        'program = require_own_program("git", root)',
        'own_programs.find_own_program("git")',
        'shutil.which("git")',
        'os.execvp("git", ["git"])',
        'os.system("git fetch")',
        'await asyncio.create_subprocess_exec("git", "status")',
        'await asyncio.create_subprocess_shell("git status")',
        "def f():\n    from git import Git",
        "import git.cmd",
    ],
)
def test_a_start_is_found_however_it_is_written(text: str) -> None:
    assert find_starts_of_git(text)


@pytest.mark.parametrize(
    "text", ['add_form(["git", "x"])', 'subprocess.run(["rg", "git"])', "from tools import git"]
)
def test_other_commands_are_none(text: str) -> None:
    assert find_starts_of_git(text) == []
