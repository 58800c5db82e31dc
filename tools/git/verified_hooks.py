"""Trusted hooks of a commit, each verified again at the moment at which git starts it.

The user trusted contents, and a commit takes a while: another process, or a hook that ran before, may change a
hook after the check. So git is given a folder of launchers, which compare and then become the hook itself.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from sandbox.policy.trust import Definition
from sandbox.process.exec_shim import build_exec_prefix
from tools.git.hook_files import read_part_digest
from tools.git.repository_programs import PART, build_git_environment, names_interpreter

SETTING = "core.hooksPath"
_EXPECTED = "expected.json"


def write_launchers(
    folder: Path, hooks: Sequence[Path], definitions: Sequence[Definition], replaced: dict[str, str]
) -> dict[str, str]:
    """Write a launcher for each hook into `folder`; return the variables by which git finds them.

    These are none where no program can be started from that folder; git would skip the hooks then.

    replaced: other settings that are passed to git; the hooks see these, and not the one for the launchers. They find
        programs on the user's whole PATH, which git itself does not: commands can write folders of it
    """
    expected = dict(_list_expected(each) for each in definitions if each.kind == "hook")
    (folder / _EXPECTED).write_text(json.dumps(expected))
    before, variables = (
        build_git_environment(replaced),
        build_git_environment({**replaced, SETTING: str(folder)}),
    )
    added = shlex.join(name for name in variables if name not in before and name != "GIT_CONFIG_COUNT")
    count = before.get("GIT_CONFIG_COUNT") or os.environ.get("GIT_CONFIG_COUNT")
    restored = f"export GIT_CONFIG_COUNT={shlex.quote(count)}" if count else "unset GIT_CONFIG_COUNT"
    path = f"export PATH={shlex.quote(os.environ.get('PATH', os.defpath))}"
    for hook in hooks:
        command = build_exec_prefix(_VERIFY, str(folder / _EXPECTED))
        shell = () if names_interpreter(hook) else ("/bin/sh",)  # as git does
        launcher = folder / hook.name
        launcher.write_text(
            f'#!/bin/sh\nunset {added}\n{restored}\n{path}\nexec {shlex.join((*command, *shell, str(hook)))} "$@"\n',
            "utf-8",
            "surrogateescape",
        )
        launcher.chmod(0o700)
    return variables if all(os.access(folder / hook.name, os.X_OK) for hook in hooks) else {}


def _list_expected(definition: Definition) -> tuple[str, str]:
    """Return a file and the digest of all of it. Of a manifest, only some fields were trusted: they are read now."""
    path = Path(definition.runs.removesuffix(PART))
    if not definition.runs.endswith(PART):
        return definition.runs, definition.digest
    part, whole = read_part_digest(path.parent, path.name)
    return str(path), whole if part == definition.digest else ""


_VERIFY = """
import hashlib, json
def digest(path):
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        content = os.fsencode(path)
    return hashlib.sha256(content).hexdigest()
with open(sys.argv[1], encoding="utf-8") as file:
    expected = json.load(file)
if changed := [path for path, known in expected.items() if digest(path) != known]:
    sys.exit("patchwright: not run, since it changed after it was trusted: " + ", ".join(map(ascii, changed)))
"""
"""Runs on Python's standard library alone, isolated."""
