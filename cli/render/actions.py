"""Actions in words: what was asked on one line, and what came of it in a few more."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from agent.events import ActionEvent, Event, MessageEvent, ObservationEvent

Data = Mapping[str, object]


@dataclass(slots=True)
class Actions:
    """Remembers what was asked, until its observation comes, so that both can be shown together."""

    _targets: dict[str, str] = field(default_factory=dict)

    def see(self, event: Event) -> None:
        """Take in the next event of the log."""
        match event:
            case MessageEvent():
                for asked in event.actions:
                    self._targets[asked.id] = target(asked.tool, asked.arguments)
            case ActionEvent():  # the harness's own actions stand in no message
                words = target(event.tool, event.arguments) if event.arguments else " ".join(event.paths)
                self._targets.setdefault(event.call, words)
            case ObservationEvent():
                self._targets.pop(event.call, None)

    def target(self, call: str) -> str:
        """What an action is about: a path, a command. Raw text: make it inert before it is shown."""
        return self._targets.get(call, "")


def target(tool: str, arguments: Data) -> str:
    """The arguments that tell a person which action this is."""
    describe = _TARGETS.get(tool, _arguments)
    return describe(arguments)


def result(data: Data) -> str:
    """What came of an action in a few words, read off the observation's data, whichever tool it was."""
    for key, describe in _RESULTS.items():
        if key in data and (words := describe(data)):
            return words
    return ""


def failures(report: Data, limit: int) -> Iterator[tuple[str, str]]:
    """(test id, first line of its message) of the first failures of a test report."""
    for failure in _dicts(report.get("failures"))[:limit]:
        message = str(failure.get("message") or "").strip()
        yield str(failure.get("id", "?")), message.partition("\n")[0]


def suspects(data: Data, limit: int) -> Iterator[tuple[str, str, float]]:
    """(file:line, its code, suspicion from 0 to 1) of the most suspicious lines of a localisation."""
    for each in _dicts(_found(data).get("suspects"))[:limit]:
        score = each.get("score")
        first, _, _ = str(each.get("code", "")).strip().partition("\n")
        yield (
            f"{each.get('path')}:{each.get('line')}",
            first,
            score if isinstance(score, int | float) else 0.0,
        )


def fixes(data: Data) -> Iterator[tuple[str, str]]:
    """(file:line, what was wrong there) of each fix that a search found."""
    for each in _dicts(_found(data).get("fixes")):
        yield f"{each.get('path')}:{each.get('line')}", str(each.get("why", ""))


def _found(data: Data) -> Data:
    """A search for repairs carries its localisation inside."""
    repair = data.get("repair")
    return repair if isinstance(repair, Mapping) else data


def _arguments(arguments: Data) -> str:
    return ", ".join(f"{key}={value!r:.60}" for key, value in arguments.items())


def _first_line(key: str) -> Callable[[Data], str]:
    def describe(arguments: Data) -> str:
        first, more, _ = str(arguments.get(key) or "").strip().partition("\n")
        return f"{first} …" if more else first

    return describe


def _read(arguments: Data) -> str:
    path, start, end = arguments.get("path", ""), arguments.get("start"), arguments.get("end")
    if not start and not end:
        return str(path)
    return f"{path}:{start or 1}–{end or ''}"


def _search(arguments: Data) -> str:
    where = [str(arguments[key]) for key in ("path", "glob") if arguments.get(key) not in (None, "", ".")]
    return " in ".join([repr(str(arguments.get("pattern", ""))), *where])


def _targets(arguments: Data) -> str:
    targets = arguments.get("targets")
    return " ".join(map(str, targets)) if isinstance(targets, list | tuple) else ""


def _words(*keys: str) -> Callable[[Data], str]:
    """The first lines of some arguments, in this order; those that say nothing are left out."""
    lines = [_first_line(key) for key in keys]
    return lambda arguments: " ".join(filter(None, (line(arguments) for line in lines)))


_PATCHED = re.compile(r"^(?:\*\*\* (?:Add|Update|Delete) File:|\+\+\+) (?:b/)?(\S.*)$", re.MULTILINE)


def _patch(arguments: Data) -> str:
    """The files that a patch names."""
    return ", ".join(dict.fromkeys(_PATCHED.findall(str(arguments.get("patch") or ""))))


_TARGETS: dict[str, Callable[[Data], str]] = {
    "read": _read,
    "list": _first_line("path"),
    "search": _search,
    "edit": _first_line("path"),
    "write": _first_line("path"),
    "edit_symbol": _words("path", "symbol"),
    "edit_lines": _first_line("path"),
    "edit_several": _first_line("path"),
    "apply_patch": _patch,
    "bring_back": _first_line("patch"),
    "rename": lambda arguments: f"{arguments.get('name', '')} to {arguments.get('to', '')}",
    "code": _words("action", "target"),
    "shell": _first_line("command"),
    "process": _words("action", "id", "command", "input"),
    "python": _first_line("code"),
    "keep_function": _first_line("source"),
    "kept_functions": _first_line("query"),
    "run_tests": _targets,
    "localize": _targets,
    "repair": _targets,
    "why_failing": _first_line("test"),
    "recall": _first_line("ref"),
    "memory": _first_line("note"),
    "git_commit": _first_line("message"),
    "git_diff": _first_line("path"),
    "git_log": _words("revision", "path", "added_or_removed", "pattern"),
    "git_show": _words("revision", "path"),
    "git_blame": _first_line("path"),
    "git_bisect": _first_line("command"),
}


def _report(data: Data) -> str:
    report = data["report"]
    if not isinstance(report, Mapping):
        return ""
    kinds = ("passed", "failed", "errors", "skipped", "xfailed", "xpassed", "deselected")
    counts = [f"{report[key]} {key}" for key in kinds if report.get(key)]
    outcome = str(report.get("outcome", ""))
    return ", ".join(counts) if counts else _OUTCOMES.get(outcome, outcome)


_OUTCOMES = {
    "no-tests": "no tests were found",
    "no-runner": "no test runner was found",
    "broken": "the tests could not be run",
    "timeout": "timed out",
}


def _diff(data: Data) -> str:
    from cli.render.diffs import counts

    added, removed = counts(str(data["diff"]))
    return " ".join(part for part in (f"+{added}" if added else "", f"−{removed}" if removed else "") if part)


def _commit(data: Data) -> str:
    return str(data["commit"])[:7]


def _exit(data: Data) -> str:
    return str(data["ended"]) if data.get("ended") in ("timeout", "interrupted") else f"exit {data['exit']}"


def _repair(data: Data) -> str:
    found = _found(data)
    number = len(_dicts(found.get("fixes")))
    return f"{number} fix{'' if number == 1 else 'es'}, {found.get('tried', 0)} candidates tried"


def _block(data: Data) -> str:
    calls = data["calls"]
    return (
        f"{data.get('ended')}, {calls} tool call{'' if calls == 1 else 's'}" if calls else str(data["ended"])
    )


_RESULTS: dict[str, Callable[[Data], str]] = {
    "report": _report,
    "commit": _commit,
    "exit": _exit,
    "calls": _block,
    "diff": _diff,
    "repair": _repair,
}


def _dicts(value: object) -> list[Data]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list | tuple) else []
