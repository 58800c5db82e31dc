"""Aliases for tool calls that models learnt with other agents: translated to calls of this toolbox.

A model calls the tools it was trained on, whatever its prompt offers: `str_replace_based_edit_tool`, `Edit(file_path,
old_string, new_string)`, `replace_in_file(path, diff)`. The intent is plain from the arguments, and a refusal would
cost a turn. Nothing is guessed: arguments that do not form a call of this toolbox are refused as before.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from sandbox.parsed_data import parse_json
from tools.core.action import Action
from tools.core.registry import Toolbox
from tools.core.tool_names import find_foreign_tool

FIND, CALL = "find_tool", "call_tool"
"""Tools by which the model finds and calls those that are not sent with every request (tools.discovery)."""

Given = dict[str, Any]
Taken = tuple[str, Given] | None
"""A tool of this toolbox and its arguments; None if the arguments fit no tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAlias:
    """Equivalent tools of many agents.

    names: their names in lower case without "_" and "-"; the arguments decide which tool of this toolbox is meant
    arguments: their argument names, normalized likewise → this toolbox's
    build_call: builds the call from renamed arguments
    """

    names: frozenset[str]
    arguments: Mapping[str, str]
    build_call: Callable[[Given], Taken]


def translate_call(action: Action, toolbox: Toolbox) -> Action:
    """Translate an action to this toolbox; unchanged if it fits already, or if no tool matches."""
    kind = next((each for each in KINDS if _normalize_name(action.tool) in each.names), None)
    given = _call_arguments(action)
    if kind is None or given is None or _is_ours(action, toolbox):
        return action
    taken = kind.build_call(_rename_arguments(given, kind.arguments))
    if taken is None or toolbox.get(taken[0]) is None:
        return action
    tool, arguments = taken
    if tool == action.tool and arguments == action.arguments:
        return action
    return replace(action, tool=tool, arguments=arguments, raw=json.dumps(arguments), problem="")


def unwrap_call(action: Action, toolbox: Toolbox) -> Action:
    """Return the call that a `call_tool` is for, to be judged and logged as if it had been made itself.

    A name that is none is left to `call_tool`, which says so.
    """
    if action.tool != CALL or action.problem:
        return action
    name, arguments = action.arguments.get("name"), action.arguments.get("arguments", {})
    if isinstance(arguments, str):  # JSON in a text: weaker models nest it so
        try:
            arguments = parse_json(arguments or "{}")
        except ValueError:
            return action
    if not isinstance(name, str) or not isinstance(arguments, dict) or name in (CALL, FIND):
        return action
    if toolbox.get(name) is None:
        return action
    return replace(action, tool=name, arguments=arguments, raw=json.dumps(arguments, ensure_ascii=False))


def _normalize_name(name: str) -> str:
    return re.sub(r"[_\-. ]", "", name).lower()


def _call_arguments(action: Action) -> Mapping[str, Any] | None:
    """Return the arguments. A bare patch in place of JSON (as some models were trained to send) counts as one."""
    if not action.problem:
        return action.arguments
    return {"patch": action.raw} if action.raw.lstrip().startswith("*** Begin Patch") else None


def _is_ours(action: Action, toolbox: Toolbox) -> bool:
    """Return whether the action calls an existing tool with its own arguments, and is no edit in a command line."""
    tool = toolbox.get(action.tool)
    if tool is None or action.problem or not set(action.arguments) <= set(tool.parameters["properties"]):
        return False
    command = action.arguments.get("command", "")
    return isinstance(command, str) and not _APPLIES.match(command)


def _rename_arguments(arguments: Mapping[str, Any], names: Mapping[str, str]) -> Given:
    """Rename arguments to our names; an argument that already has our name is not overwritten."""
    found: Given = {}
    for name, value in arguments.items():
        plain = _normalize_name(name)
        own = names.get(plain, name)
        if plain not in _REASONS:
            found[name if own != name and (own in arguments or own in found) else own] = value
    return found


_REASONS = frozenset({"explanation", "description", "instruction", "instructions", "reason"})
"""Arguments that only explain the call."""


def _to_edit_call(given: Given) -> Taken:
    command = given.pop("command", None)
    if command == "view":
        return _to_read_call(given)
    if command not in (None, "str_replace", "create", "insert", "edit", "write"):
        return None  # an undo, say: no tool here supports it
    if isinstance(number := given.pop("insert_line", None), int):
        given |= {
            "first": number + 1,
            "last": number,
        }  # no line is replaced; the text is inserted before line `first`
    if isinstance(count := given.pop("expected_replacements", None), int) and count > 1:
        given["all"] = True
    if "edits" in given:
        given["edits"] = _rename_edit_parts(given["edits"])
    if isinstance(patch := given.get("patch"), str) and isinstance(path := given.pop("path", None), str):
        given["patch"] = _add_patch_header(path, patch)
    tool = next((tool for tool, needed in _NEEDS if needed <= set(given)), None)
    return (tool, given) if tool else None


def _rename_edit_parts(edits: object) -> object:
    """Rename the arguments of replacements; accepts a single one, or all as a JSON string."""
    if isinstance(edits, str):
        try:
            edits = parse_json(edits)
        except ValueError:  # refused for its type when the arguments are validated
            return edits
    if isinstance(edits, dict):
        edits = [edits]
    if not isinstance(edits, list):
        return edits
    return [_rename_arguments(each, _EDIT) if isinstance(each, dict) else each for each in edits]


_NEEDS = (
    ("apply_patch", {"patch"}),
    ("edit_several", {"path", "edits"}),
    ("edit_lines", {"path", "first", "last", "new"}),
    ("edit_symbol", {"path", "symbol", "new"}),
    ("edit", {"path", "old", "new"}),
    ("write", {"path", "content"}),
)
"""Required arguments that identify each tool, the most specific first."""


def _add_patch_header(path: str, patch: str) -> str:
    """Return a patch of one file with its path added where the format expects it."""
    first = patch.lstrip("\r\n").partition("\n")[0]
    if re.match(r"\s*[<-]{5,9} ?SEARCH", first):
        return f"{path}\n{patch}"
    if re.match(r"@@ -\d", first):
        return f"--- a/{path}\n+++ b/{path}\n{patch}"
    if first.startswith("@@"):
        return f"*** Begin Patch\n*** Update File: {path}\n{patch.rstrip()}\n*** End Patch\n"
    return patch


def _to_read_call(given: Given) -> Taken:
    match given.pop("view_range", None):
        case [int(start), int(end)]:
            given |= {"start": start} if end < 0 else {"start": start, "end": end}
    if isinstance(count := given.pop("limit", None), int):
        given["end"] = int(given.get("start", 1)) + count - 1
    return ("read", given) if "path" in given else None


_APPLIES = compile_lazily(r"\s*apply_?patch\b")

_FEEDS_PATCH = compile_lazily(
    r"\s*apply_?patch\s*<<-?\s*(['\"]?)(\w+)\1[ \t]*\n(.*?)\n?^[ \t]*\2\s*", re.DOTALL | re.MULTILINE
)


def _to_shell_call(given: Given) -> Taken:
    match given.get("command"):
        case ["bash" | "sh" | "zsh", "-c" | "-lc", str(line)]:
            given["command"] = line
        case ["apply_patch" | "applypatch", str(patch)]:
            return ("apply_patch", {"patch": patch})
        case [*words] if all(isinstance(word, str) for word in words):
            given["command"] = shlex.join(words)
    command = given.get("command")
    if isinstance(command, str) and (fed := _FEEDS_PATCH.fullmatch(command)):
        return ("apply_patch", {"patch": fed[3]})
    return ("shell", given) if command else None


_PATH = dict.fromkeys(("filepath", "filename", "file", "targetfile", "absolutepath"), "path")
_EDIT: Mapping[str, str] = {
    **_PATH,
    **dict.fromkeys(("oldstring", "oldstr", "oldtext", "search", "searchstring"), "old"),
    **dict.fromkeys(("newstring", "newstr", "newtext", "replace", "replacement", "inserttext"), "new"),
    **dict.fromkeys(("replaceall", "allowmultiple"), "all"),
    **dict.fromkeys(("filetext", "contents", "filecontent", "newcontent"), "content"),
    **dict.fromkeys(("input", "diff", "patchtext", "patchcontent"), "patch"),
    **dict.fromkeys(("edit", "replacements", "changes"), "edits"),
}
_READ = {**_PATH, "startline": "start", "offset": "start", "endline": "end"}

_EDITORS = """edit editfile multiedit fileedit editseveral editsymbol editlines applypatch applydiff patch replace
    replaceinfile searchreplace searchandreplace strreplace strreplacefile strreplaceeditor strreplacebasededittool
    texteditor fileeditor write writefile writetofile createfile create savefile insert"""
_READERS = "read readfile view viewfile openfile cat"
_SHELLS = "shell bash runcommand runshellcommand executecommand execcommand runterminalcmd"

_SEARCHERS = "grep grepsearch searchfilecontent ripgrep"
_GLOBBERS = "glob findfiles"
_LISTERS = "ls listdirectory listdir"
_DELEGATES = "task agent spawnagent"
_PLANNERS = "todowrite writetodos updateplan"
_ASKERS = "askuserquestion askfollowupquestion requestuserinput askuser"


def _to_search_call(given: Given) -> Taken:
    known = {name: value for name, value in given.items() if name in ("pattern", "path", "glob")}
    return ("search", known) if "pattern" in known else None


def _to_glob_call(given: Given) -> Taken:
    """Take a pattern of file names for a search, which finds names, too."""
    pattern = given.get("pattern")
    if not isinstance(pattern, str):
        return None
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    name = "".join(_WILDCARDS.get(each, re.escape(each)) for each in parts)
    where = {"path": given["path"]} if "path" in given else {}
    return ("search", {"pattern": f"{name}$", **where})


_WILDCARDS = {"**/": "", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def _to_list_call(given: Given) -> Taken:
    return ("list", {name: value for name, value in given.items() if name in ("path", "depth")})


def _to_delegate_call(given: Given) -> Taken:
    known = {name: value for name, value in given.items() if name in ("agent", "task", "child", "background")}
    return ("delegate", known) if "task" in known else None


def _to_plan_call(given: Given) -> Taken:
    items = given.get("items")
    if not isinstance(items, list) or not all(isinstance(each, dict) for each in items):
        return None
    taken = []
    for each in items:
        text = each.get("content") or each.get("step") or each.get("description") or each.get("text")
        status = _STATUSES.get(str(each.get("status")), each.get("status"))
        taken.append({"text": text, **({"status": status} if status else {})})
    return ("plan", {"items": taken})


_STATUSES = {"pending": "open", "in_progress": "doing", "completed": "done"}


def _to_question_call(given: Given) -> Taken:
    """Translate `AskUserQuestion(questions)` and `ask_followup_question(question, follow_up)`."""
    questions = given.get("questions")
    if isinstance(questions, list):
        asked = [_to_question(each) for each in questions if isinstance(each, dict) and each.get("question")]
        if len(asked) == 1 and not asked[0]["options"]:
            return ("ask_user", {"question": asked[0]["question"]})
        return ("ask_user", {"questions": asked}) if asked else None
    if not given.get("question"):
        return None
    if options := _list_options(given.get("options") or given.get("follow_up")):
        return ("ask_user", {"questions": [{"question": given["question"], "options": options}]})
    return ("ask_user", {"question": given["question"]})


def _to_question(given: Given) -> Given:
    """Return one question of another agent's call; its `header`, a short title, is left out."""
    several = given.get("several", given.get("multiSelect", given.get("multi_select", False)))
    options = _list_options(given.get("options"))
    return {"question": given["question"], "options": options, "several": several}


def _list_options(options: object) -> list[str]:
    """Return options as "label: meaning", from texts or objects."""
    found = []
    for each in options if isinstance(options, list) else []:
        if isinstance(each, dict):
            label, meaning = (
                str(each.get("label") or each.get("text") or ""),
                str(each.get("description") or ""),
            )
            each = f"{label}: {meaning}" if label and meaning else label or meaning
        if each and isinstance(each, str):
            found.append(each)
    return found


def _read_inputs(tool: str) -> Mapping[str, str]:
    """Return the inputs of a row of the table of other agents' tools, their names normalized."""
    row = find_foreign_tool(tool)
    return {_normalize_name(name): ours for name, ours in row.inputs.items()} if row is not None else {}


def _to_skill_call(given: Given) -> Taken:
    name = given.get("name")
    return ("skill", {"name": name}) if isinstance(name, str) else None


def _to_fetch_call(given: Given) -> Taken:
    """Return a call of `web_fetch`: the question to the page stays with the model."""
    url = given.get("url")
    return ("web_fetch", {"url": url}) if isinstance(url, str) else None


def _to_web_search_call(given: Given) -> Taken:
    query = given.get("query")
    return ("web_search", {"query": query}) if isinstance(query, str) else None


KINDS = (
    ToolAlias(names=frozenset(_EDITORS.split()), arguments=_EDIT, build_call=_to_edit_call),
    ToolAlias(names=frozenset(_READERS.split()), arguments=_READ, build_call=_to_read_call),
    ToolAlias(names=frozenset(_SHELLS.split()), arguments={"cmd": "command"}, build_call=_to_shell_call),
    ToolAlias(
        names=frozenset(_SEARCHERS.split()), arguments=_read_inputs("Grep"), build_call=_to_search_call
    ),
    ToolAlias(names=frozenset(_GLOBBERS.split()), arguments={}, build_call=_to_glob_call),
    ToolAlias(names=frozenset(_LISTERS.split()), arguments=_read_inputs("LS"), build_call=_to_list_call),
    ToolAlias(
        names=frozenset(_DELEGATES.split()), arguments=_read_inputs("Task"), build_call=_to_delegate_call
    ),
    ToolAlias(
        names=frozenset({"skill", "activateskill"}),
        arguments=_read_inputs("Skill"),
        build_call=_to_skill_call,
    ),
    ToolAlias(
        names=frozenset(_PLANNERS.split()),
        arguments={"todos": "items", "plan": "items"},
        build_call=_to_plan_call,
    ),
    ToolAlias(names=frozenset(_ASKERS.split()), arguments={}, build_call=_to_question_call),
    ToolAlias(names=frozenset({"webfetch", "fetch", "fetchurl"}), arguments={}, build_call=_to_fetch_call),
    ToolAlias(
        names=frozenset({"websearch", "googlewebsearch"}),
        arguments={"q": "query"},
        build_call=_to_web_search_call,
    ),
)
