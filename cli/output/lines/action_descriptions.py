"""Short descriptions of actions: the target on one line, the result in a few words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field

from agent.events import ActionEvent, Event, MessageEvent, ObservationEvent
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

Data = Mapping[str, object]


@dataclass(slots=True)
class ActionTracker:
    """Targets of the actions without an observation yet, so that both can be shown together."""

    _targets: dict[str, str] = field(default_factory=dict)

    def handle_event(self, event: Event) -> None:
        """Process the next event of the log."""
        match event:
            case MessageEvent():
                for asked in event.actions:
                    self._targets[asked.id] = describe_target(asked.tool, asked.arguments)
            case ActionEvent():  # the harness's own actions are in no message
                words = (
                    describe_target(event.tool, event.arguments) if event.arguments else " ".join(event.paths)
                )
                self._targets.setdefault(event.call, words)
            case ObservationEvent():
                self._targets.pop(event.call, None)

    def get_target(self, call: str) -> str:
        """Return the target of an action (a path, a command), "" if unknown. Raw text: sanitize it before display."""
        return self._targets.get(call, "")


def describe_target(tool: str, arguments: Data) -> str:
    """Return the arguments that identify an action for the user, on one line."""
    describe = _TARGETS.get(tool, _format_arguments)
    return describe(arguments)


def describe_result(data: Data) -> str:
    """Describe the result of an action in a few words, from the observation's data, for any tool; "" if unknown."""
    for key, describe in _RESULTS.items():
        if key in data and (words := describe(data)):
            return words
    return ""


def iterate_failures(report: Data, limit: int) -> Iterator[tuple[str, str]]:
    """Yield (test id, first line of its message) of the first `limit` failures of a test report."""
    for failure in _filter_mappings(report.get("failures"))[:limit]:
        message = str(failure.get("message") or "").strip()
        yield str(failure.get("id", "?")), message.partition("\n")[0]


def iterate_suspects(data: Data, limit: int) -> Iterator[tuple[str, str, float]]:
    """Yield (file:line, its code, suspiciousness from 0 to 1) of the top lines of a fault localization."""
    for each in _filter_mappings(_get_search_data(data).get("suspects"))[:limit]:
        score = each.get("score")
        first, _, _ = str(each.get("code", "")).strip().partition("\n")
        yield (
            f"{each.get('path')}:{each.get('line')}",
            first,
            score if isinstance(score, int | float) else 0.0,
        )


def iterate_fixes(data: Data) -> Iterator[tuple[str, str]]:
    """Yield (file:line, explanation of the defect) of each fix found by a search."""
    for each in _filter_mappings(_get_search_data(data).get("fixes")):
        yield f"{each.get('path')}:{each.get('line')}", str(each.get("why", ""))


def _get_search_data(data: Data) -> Data:
    """Return the data of a repair search nested in the observation, or the data itself."""
    repair = data.get("repair")
    return repair if isinstance(repair, Mapping) else data


def _format_arguments(arguments: Data) -> str:
    return ", ".join(f"{key}={value!r:.60}" for key, value in arguments.items())


def _make_first_line_describer(key: str) -> Callable[[Data], str]:
    def describe(arguments: Data) -> str:
        first, more, _ = str(arguments.get(key) or "").strip().partition("\n")
        return f"{first} …" if more else first

    return describe


def _describe_read(arguments: Data) -> str:
    path, start, end = arguments.get("path", ""), arguments.get("start"), arguments.get("end")
    if not start and not end:
        return str(path)
    return f"{path}:{start or 1}–{end or ''}"


def _describe_search(arguments: Data) -> str:
    where = [str(arguments[key]) for key in ("path", "glob") if arguments.get(key) not in (None, "", ".")]
    return " in ".join([repr(str(arguments.get("pattern", ""))), *where])


def _describe_questions(arguments: Data) -> str:
    """Return the first question, and how many more there are."""
    questions = _filter_mappings(arguments.get("questions"))
    asked = [str(arguments.get("question") or ""), *(str(each.get("question", "")) for each in questions)]
    asked = [each.strip() for each in asked if each.strip()]
    first = asked[0].partition("\n")[0] if asked else ""
    return f"{first} (and {len(asked) - 1} more)" if len(asked) > 1 else first


def _describe_targets(arguments: Data) -> str:
    targets = arguments.get("targets")
    return " ".join(map(str, targets)) if isinstance(targets, list | tuple) else ""


def _make_lines_describer(*keys: str) -> Callable[[Data], str]:
    """Return a function that joins the first lines of some arguments, in this order, without empty ones."""
    lines = [_make_first_line_describer(key) for key in keys]
    return lambda arguments: " ".join(filter(None, (line(arguments) for line in lines)))


_PATCHED = compile_lazily(r"^(?:\*\*\* (?:Add|Update|Delete) File:|\+\+\+) (?:b/)?(\S.*)$", re.MULTILINE)


def _describe_patch(arguments: Data) -> str:
    """Return the files that a patch names."""
    return ", ".join(dict.fromkeys(_PATCHED.findall(str(arguments.get("patch") or ""))))


_TARGETS: dict[str, Callable[[Data], str]] = {
    "read": _describe_read,
    "list": _make_first_line_describer("path"),
    "search": _describe_search,
    "edit": _make_first_line_describer("path"),
    "write": _make_first_line_describer("path"),
    "edit_symbol": _make_lines_describer("path", "symbol"),
    "edit_lines": _make_first_line_describer("path"),
    "edit_several": _make_first_line_describer("path"),
    "apply_patch": _describe_patch,
    "bring_back": _make_first_line_describer("patch"),
    "merge_changes": lambda arguments: f"of {str(arguments.get('theirs', ''))[:10]}",
    "set_file": _make_first_line_describer("path"),
    "check_step": _make_first_line_describer("command"),
    "rename": lambda arguments: f"{arguments.get('name', '')} to {arguments.get('to', '')}",
    "code": _make_lines_describer("action", "target"),
    "shell": _make_first_line_describer("command"),
    "process": _make_lines_describer("action", "id", "command", "input"),
    "python": _make_first_line_describer("code"),
    "keep_function": _make_first_line_describer("source"),
    "kept_functions": _make_first_line_describer("query"),
    "run_tests": _describe_targets,
    "check_tests": _describe_targets,
    "show_test_command": _describe_targets,
    "localize": _describe_targets,
    "repair": _describe_targets,
    "why_failing": _make_first_line_describer("test"),
    "recall": _make_first_line_describer("ref"),
    "web_fetch": _make_first_line_describer("url"),
    "web_search": _make_first_line_describer("query"),
    "find_tool": _make_first_line_describer("query"),
    "memory": _make_first_line_describer("note"),
    "delegate": _make_lines_describer("agent", "child", "task"),
    "ask_user": _describe_questions,
    "ask": _make_first_line_describer("question"),
    "report": _make_first_line_describer("answer"),
    "git_commit": _make_first_line_describer("message"),
    "git_diff": _make_first_line_describer("path"),
    "git_log": _make_lines_describer("revision", "path", "added_or_removed", "pattern"),
    "git_show": _make_lines_describer("revision", "path"),
    "git_blame": _make_first_line_describer("path"),
    "git_bisect": _make_first_line_describer("command"),
}


def _describe_report(data: Data) -> str:
    report = data["report"] if "report" in data else data["checked_tests"]
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
    "unverified": "nothing counted",
}


def _describe_diff(data: Data) -> str:
    from cli.output.diff.diff_parser import count_diff_lines

    added, removed = count_diff_lines(str(data["diff"]))
    return " ".join(part for part in (f"+{added}" if added else "", f"−{removed}" if removed else "") if part)


def _describe_commit(data: Data) -> str:
    return str(data["commit"])[:7]


def _describe_exit(data: Data) -> str:
    return str(data["ended"]) if data.get("ended") in ("timeout", "interrupted") else f"exit {data['exit']}"


def _describe_repair(data: Data) -> str:
    found = _get_search_data(data)
    number = len(_filter_mappings(found.get("fixes")))
    return f"{number} fix{'' if number == 1 else 'es'}, {found.get('tried', 0)} candidates tried"


def _describe_block(data: Data) -> str:
    calls = data["calls"]
    return (
        f"{data.get('ended')}, {calls} tool call{'' if calls == 1 else 's'}" if calls else str(data["ended"])
    )


def _get_list(data: Data, key: str) -> list[object]:
    found = data.get(key)
    return list(found) if isinstance(found, list | tuple) else []


_RESULTS: dict[str, Callable[[Data], str]] = {
    "answers": lambda data: "; ".join(filter(None, map(str, _get_list(data, "answers")))),
    "report": _describe_report,
    "checked_tests": _describe_report,
    "commit": _describe_commit,
    "exit": _describe_exit,
    "calls": _describe_block,
    "diff": _describe_diff,
    "repair": _describe_repair,
    "findings": lambda data: _describe_findings(data["findings"]),
}


def _describe_findings(findings: object) -> str:
    number = len(findings) if isinstance(findings, list) else 0
    return f"{number} findings" if number > 1 else "1 finding" if number else ""


def _filter_mappings(value: object) -> list[Data]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list | tuple) else []
