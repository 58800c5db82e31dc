"""Flows of one action, whatever its tool: a command line, a kernel's block, an edit, a commit, a server's tool."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from agent.monitor.intent import places
from agent.monitor.intent.command_roles import REMOVAL, list_run_files
from agent.monitor.intent.programs import (
    HARMLESS_STARTS,
    INLINE,
    INTERESTING,
    PYTHONS,
    SENDERS,
    SHELLS,
    WITH_VERBS,
)
from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.shell.data_flow import Flow, trace_command_line
from tools.core.action_guard import BegunAction
from tools.core.workspace import Workspace

if TYPE_CHECKING:
    from sandbox.policy.shell import Judgement

MAX_SCRIPT = 64_000
"""Bytes of a script of the session's own that is followed when it runs."""

_QUOTED = compile_lazily(r"'([^'\n]{1,200})'|\"([^\"\n]{1,200})\"|`([^`\n]{1,200})`")
_WORD = compile_lazily(r"[\w./~+-]{2,400}")
_CARRIERS = SENDERS - WITH_VERBS
_NETWORK = compile_lazily(
    r"\b(?:fetch|https?|net|socket|axios|Net::HTTP|LWP|TCPSocket|URI|open-uri|fsockopen|curl_\w+)\b"
)


def trace_action(
    begun: BegunAction, at: Workspace, *, follows: Collection[str], fetched: Collection[str]
) -> Sequence[Flow]:
    """Return the flows of an action; () for one that can be no step of a chain.

    follows: paths with a label; fetched: those of them that hold what came from other machines
    """
    effect = begun.effect
    if effect.argv[:2] == ("python", "-c") and begun.action.tool != "shell":
        from agent.monitor.intent.python_flow import KERNEL, trace_python

        names = [each.removeprefix(KERNEL) for each in fetched if each.startswith(KERNEL)]
        return trace_python(effect.argv[2], root=at.root, keeps_variables=True, connections=names)
    if effect.argv:
        line = effect.argv[2] if effect.argv[:2] == ("bash", "-c") else shlex.join(effect.argv)
        if begun.command is not None and _is_plain(begun.command, follows):
            return ()
        flows = _add_programs(trace_command_line(line, root=at.root), at)
        if begun.command is not None and begun.command.problems:
            flows.append(_scan_line(line, str(at.root)))
        return flows
    return _trace_tool(begun, at)


def _trace_tool(begun: BegunAction, at: Workspace) -> Sequence[Flow]:
    effect, tool = begun.effect, begun.action.tool
    paths = tuple(_normalize(each, at) for each in effect.paths)
    text = f"{tool} {' '.join(paths)}".strip()
    if effect.kind == "read":
        secret = frozenset(path for path in paths if places.is_secret_place(path))
        return [Flow(text=text, program=tool, reads=secret)] if secret else ()
    if effect.kind == "write":
        words = tuple(_list_texts(begun.action.arguments))
        program = REMOVAL if _removes_lines(begun.action.arguments) else tool
        return [Flow(text=text, program=program, args=words, writes=frozenset(paths))]
    if effect.kind == "git":
        return [Flow(text=tool, program="git", called=tool, args=("commit",))]
    if effect.kind == "network":
        words = tuple(_list_texts(begun.action.arguments))
        text = f"{tool} {' '.join(words)}"
        return [Flow(text=text, program=tool, args=words, hosts=effect.hosts, network=True)]
    if effect.kind == "mcp":
        words = tuple(_list_texts(begun.action.arguments))
        server = effect.server_tool.partition(".")[0]
        return [
            Flow(
                text=effect.server_tool, program=effect.server_tool, args=words, hosts=(server,), network=True
            )
        ]
    return ()


def _is_plain(command: Judgement, follows: Collection[str]) -> bool:
    """Whether a command line surely is no step of a chain: the common case, at the cost of a few look-ups."""
    for segment in command.segments:
        if segment.argv is None:
            return False
        if (
            segment.argv
            and segment.argv[0].rpartition("/")[2] in INTERESTING
            and segment.argv[:2] not in HARMLESS_STARTS
        ):
            return False
        for effect in segment.effects:
            if effect.outside or effect.kind not in ("none", "read", "write", "execute"):
                return False
            if effect.kind == "execute" and (follows or "/" in "".join(segment.argv[:2])):
                return False
            for path in effect.paths:
                if path in follows or places.is_secret_place(path) or places.is_watched(path):
                    return False
                if follows and effect.kind in ("read", "write"):
                    return False
    return True


def _add_programs(flows: Sequence[Flow], at: Workspace) -> list[Flow]:
    """Add the flows of the programs that commands run: inline code, and scripts that the session wrote."""
    found = list(flows)
    for number, flow in enumerate(flows):
        for inner in _list_programs(flow, at):
            base = len(found)
            for each in inner:
                moved = frozenset(base + source for source in each.sources)
                found.append(replace(each, sources=moved | {number}))
    return found


def _list_programs(flow: Flow, at: Workspace) -> Iterator[Sequence[Flow]]:
    from agent.monitor.intent.python_flow import trace_python

    if flow.program in PYTHONS:
        if "-c" in flow.args[:-1]:
            yield trace_python(flow.args[flow.args.index("-c") + 1], root=at.root)
        elif flow.fed and all(each.startswith("-") for each in flow.args):
            yield trace_python(flow.fed, root=at.root)
    if (option := INLINE.get(flow.program)) and option in flow.args[:-1]:
        yield [_scan_code(flow.args[flow.args.index(option) + 1], flow)]
    elif flow.program in INLINE and flow.fed:
        yield [_scan_code(flow.fed, flow)]
    for name in list_run_files(flow):
        path = _normalize(f"{flow.folder}/{name}" if flow.folder and not name.startswith("/") else name, at)
        text = _read_own_script(path, at)
        if not text:
            continue
        yield _trace_script(path, text, flow, at)


def _trace_script(path: str, text: str, flow: Flow, at: Workspace) -> Sequence[Flow]:
    """Return the flows of a script, in the language that its runner, its name or its first line says."""
    from agent.monitor.intent.python_flow import trace_python

    first = text.partition("\n")[0]
    if flow.program in PYTHONS or path.endswith(".py") or (first.startswith("#!") and "python" in first):
        return trace_python(text, root=at.root)
    if flow.program in (*SHELLS, "source", ".") or path.endswith(".sh") or re.match(r"#!.*\b\w*sh\b", first):
        return trace_command_line(text, root=at.root)
    return [_scan_code(text, flow)]


def _read_own_script(path: str, at: Workspace) -> str:
    """Return the text of a script that the session wrote, "" for others: those are the user's."""
    if path not in at.changes.originals:
        return ""
    try:
        if at.files.get_size(path) > MAX_SCRIPT:
            return ""
        return at.files.read(path).decode("utf-8", "replace")
    except (OSError, ValueError):  # gone, or no file
        return ""


def _scan_line(line: str, folder: str) -> Flow:
    """Return the flow of a command line that was not understood in full: its words as files and as programs."""
    words = _WORD.findall(line[:MAX_SCRIPT])
    return Flow(
        text=line,
        program="code",
        args=tuple(dict.fromkeys(words)),
        reads=frozenset(each for each in words if places.is_secret_place(each)),
        network=bool(_CARRIERS.intersection(words)),
        folder=folder,
    )


def _scan_code(code: str, flow: Flow) -> Flow:
    """Return the flow of code in a language that is not parsed here: its texts as paths, its words as effects."""
    texts = [next(filter(None, match.groups())) for match in _QUOTED.finditer(code[:MAX_SCRIPT])]
    hosts = tuple(each for each in texts if "://" in each)[:2]
    network = bool(_NETWORK.search(code[:MAX_SCRIPT])) or bool(hosts)
    return Flow(
        text=flow.text,
        program="code",
        reads=frozenset(each for each in texts if places.is_secret_place(each)),
        args=tuple(texts[:200]),
        hosts=hosts,
        network=network,
        folder=flow.folder,
    )


def _removes_lines(arguments: Mapping[str, Any]) -> bool:
    old, new = arguments.get("old"), arguments.get("new")
    if not isinstance(old, str) or not isinstance(new, str):
        return False
    kept = set(new.splitlines())
    return any(line.strip() and line not in kept for line in old.splitlines()) and len(new) < len(old)


def _list_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value[:MAX_SCRIPT]
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _list_texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _list_texts(each)


def _normalize(path: str, at: Workspace) -> str:
    """Return a path, links followed, relative to the workspace, or absolute outside of it."""
    root = _resolve_root(str(at.root))
    try:
        found = os.path.realpath(path if path.startswith("/") else f"{root}/{path}")
    except (OSError, ValueError):  # a loop of links, a zero byte
        return path
    return found[len(root) + 1 :] if found.startswith(f"{root}/") else found


_resolve_root = lru_cache(maxsize=64)(os.path.realpath)
