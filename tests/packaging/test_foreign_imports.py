"""No module that a stranger names is imported in our process, or looked up in a way that imports what it is in."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

OF_OURS = {
    "packages/evaluation/suites/suite_table.py": "a module of ours, by the table of suites",
    "packages/setup/commands/import_.py": "a module of ours, by an agent that the option allows",
    "packages/setup/sessions/import_sessions.py": "a module of ours, by an agent that the command allows",
    "packages/warm/loaded_modules.py": "a module of ours or of Python, by the list of those that a run has loaded",
    "agent/events/__init__.py": "a module of ours, by the table of rare events",
    "agent/turn/late_parts.py": "a module of ours, by the list of those that a reply needs",
    "cli/commands/group.py": "a module of ours, by the table of commands",
    "tools/builtin_tools.py": "a module of ours, by the table of tools",
    "tools/code/languages.py": "a grammar of the table of languages",
    "patchwright/exports.py": "a module of ours, by the table of exports",
    "sandbox/extensions.py": "an object of ours, by the table of packages",
    "sandbox/policy/allowed_commands.py": "no module: the options of a command, whose finder has the same name",
    "tools/web/page_text.py": "a library of the table of converters",
}
"""Files of this process that import or look up a module by a name that is no constant, and where the name is from."""

ELSEWHERE = (
    "packages/evaluation/suites/programs/tests_judge.py",
    "packages/offline/reproduction/probe/",
    "packages/search/programs/program_worker.py",
    "tools/kernel/patchwright_kernel/",
    "packages/offline/repair/patchwright_worker/",
)
"""Programs of ours that run in the sandbox, and there import what is to be tested."""

IMPORTERS = {"import_module", "find_spec", "__import__", "run_module", "run_path"}


def list_calls(path: Path) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call):
            function = node.func
            name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
            if name in IMPORTERS and node.args and not isinstance(node.args[0], ast.Constant):
                yield node


def test_no_module_is_imported_by_a_strangers_name() -> None:
    found = set()
    for floor in ("sandbox", "tools", "agent", "cli", "patchwright", "packages"):
        for path in (ROOT / floor).rglob("*.py"):
            name = path.relative_to(ROOT).as_posix()
            if name.startswith(ELSEWHERE) or name == "sandbox/policy/shell/commands/command_call.py":
                continue  # the latter has a function of its own of that name
            if any(list_calls(path)):
                found.add(name)
    assert found == set(OF_OURS)
