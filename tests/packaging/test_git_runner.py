"""git is started by one module, `sandbox.helpers.git_runner`; through GitPython by one other alone. Every other
program has its one starter, too, and no module outside a short list starts any."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.packaging.test_import_graph import ROOT, read_modules

RUNNER = "sandbox.helpers.git_runner"
GITPYTHON = {"tools.git.gitpython_start"}

LOOKED_UP = {"git": RUNNER, "rg": "tools.fs.ripgrep", "bwrap": "sandbox.backends.selection"}
"""Programs that read untrusted files, and the module that looks each up."""

MAY_START = {
    "sandbox.helpers.git_runner": "git, confined",
    "tools.git.gitpython_start": "GitPython's type of a process",
    "tools.fs.ripgrep": "ripgrep, confined",
    "tools.code.index.worker_pool": "workers of the index, confined",
    "sandbox.process.spawn": "commands, in a sandbox",
    "sandbox.process.watchdog": "a shell that reads only what we write to it",
    "sandbox.helpers.helper_confinement": "the type of a process",
    "sandbox.backends.bubblewrap": "tries whether bwrap works, on an empty command",
    "sandbox.resident.place": "the server of a resident place, confined",
    "sandbox.resident.server": "commands, in the sandbox that it runs in",
    "sandbox.backends.container": "docker or podman",
    "agent.children.process.process_executor": "Patchwright itself, for a child session",
    "packages.search.programs.program_worker": "runs inside a sandbox",
    "packages.evaluation.suites.programs.program_judge": "runs inside a sandbox",
    "packages.evaluation.suites.programs.tests_judge": "runs inside a sandbox",
    "patchwright.api.process": "Patchwright itself, for a session of a Python program",
    "agent.model.gguf.own_server": "Patchwright itself, as the keeper of a model server",
    "agent.model.gguf.server_keeper": "llama.cpp's server, confined",
    "packages.warm.warm_server": "forks itself, for a start of Patchwright",
    "packages.warm.commands.warm": "Patchwright itself, as the warm process",
    "cli.detached.launch": "Patchwright itself, without a terminal",
    "cli.hosting.gh_client": "GitHub's own program, from outside the workspace and away from it",
    "cli.hooks.post_merge": "Patchwright itself",
    "cli.hooks.pre_push": "Patchwright itself",
    "cli.tui.clipboard.clipboard_programs": "the desktop's clipboard programs, from outside the workspace",
    "cli.commands.setup.doctor": "asks programs outside the workspace for their versions",
    "packages.offline.repair.patchwright_worker.entry": "runs inside a sandbox",
    "packages.offline.repair.patchwright_worker.process.child_process": "runs inside a sandbox",
}
"""Modules that start processes, and which."""

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


MAY_BE_START = re.compile(r"\b(subprocess|os|asyncio|pty|multiprocessing|pexpect|sh)\b")
"""A text without any of these words starts no process: it is not parsed, which takes a second for all modules."""


def find_process_starts(text: str) -> list[int]:
    """Return the lines on which a module starts any process, or refers to a function that does."""
    if not MAY_BE_START.search(text):
        return []
    tree = ast.parse(text)
    return [node.lineno for node in ast.walk(tree) if _refers_to_start(node)]


def _refers_to_start(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(value=ast.Name(id="subprocess"), attr=name):
            return name in STARTERS
        case ast.Attribute(value=ast.Name(id=("os" | "asyncio" | "pty")), attr=name):
            return name in STARTERS - {"run", "call"} | {"fork", "forkpty", "spawn"}
        case ast.ImportFrom(module=("subprocess" | "os" | "pty"), names=names):
            return any(each.name in STARTERS | {"fork", "forkpty", "spawn"} for each in names)
        case ast.Import(names=names):
            return any(each.name in ("multiprocessing", "pexpect", "sh") for each in names)
    return False


def find_lookups(text: str, program: str) -> list[int]:
    """Return the lines on which a module looks a program up."""
    if program not in text or not any(each in text for each in LOOKUPS):
        return []
    tree = ast.parse(text)
    return [node.lineno for node in ast.walk(tree) if _is_lookup(node, program)]


def find_starts_of_git(text: str) -> list[int]:
    """Return the lines on which a module starts git, looks its program up, or imports GitPython."""
    if "git" not in text:
        return []
    nodes = list(ast.walk(ast.parse(text)))
    starts = [node for node in nodes if isinstance(node, ast.Call) and _is_start(node)]
    found = [node.lineno for node in nodes if _is_lookup(node) or _is_gitpython(node)]
    found += [start.lineno for start in starts if any(map(_names_git, _list_commands(start)))]
    if starts:  # a command that was put together first
        lists = [node for node in nodes if isinstance(node, ast.List | ast.Tuple)]
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


def _names_git(node: ast.AST, program: str = "git") -> bool:
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)):
        return False
    text = node.value if isinstance(node.value, str) else node.value.decode()
    return text.split(" ")[0].rpartition("/")[2] == program


def _is_lookup(node: ast.AST, program: str = "git") -> bool:
    if not (isinstance(node, ast.Call) and node.args and _names_git(node.args[0], program)):
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


@pytest.mark.slow
def test_no_other_module_starts_a_process() -> None:
    modules = read_modules(ROOT)
    found = {
        name: lines
        for name, path in modules.items()
        if (lines := find_process_starts(path.read_text("utf-8")))
    }
    assert found.keys() == MAY_START.keys(), found.keys() ^ MAY_START.keys()


@pytest.mark.slow
@pytest.mark.parametrize("program", LOOKED_UP)
def test_each_program_of_ours_has_one_starter(program: str) -> None:
    found = [
        name for name, path in read_modules(ROOT).items() if find_lookups(path.read_text("utf-8"), program)
    ]
    assert found == [LOOKED_UP[program]]


@pytest.mark.parametrize(
    "text",
    [
        "subprocess.Popen(command)",
        "start = subprocess.run",
        "from subprocess import check_output",
        "os.posix_spawn(path, argv, env)",
        "pty.spawn(argv)",
        "asyncio.create_subprocess_exec(*argv)",
        "import multiprocessing",
        "if os.fork(): pass",
    ],
)
def test_a_process_is_found_however_it_is_started(text: str) -> None:
    assert find_process_starts(text)


@pytest.mark.parametrize("text", ["asyncio.run(main())", "runner.run(command)", "subprocess.DEVNULL"])
def test_not_every_run_starts_a_process(text: str) -> None:
    assert find_process_starts(text) == []


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
