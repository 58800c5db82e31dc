"""Calls between tags: `<tool_call>…</tool_call>`, `<function=read>…`, `<invoke name="read">…`, `<read><path>…`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent.model.text_calls.json_calls import extract_calls, parse_call_arguments
from agent.model.text_calls.known_tools import Call, Candidate, KnownTools, strip_decoration
from agent.model.wire_formats.lenient_json import NotReadable, parse_json_at
from sandbox.lazy_pattern import compile_lazily

_WRAPPER = compile_lazily(
    r"<\|?(tool_calls?|function_calls?|functioncall|toolcall|tool_use|tool|action|tools)\|?>", re.IGNORECASE
)
_NAMED = compile_lazily(
    r"<(?:\w+:)?(?:function|invoke|tool|tool_call|tool_use|call)(?:\s*=\s*|\s+(?:\w+\s*=\s*\"[^\"]*\"\s+)*?name\s*=\s*)"
    r"[\"']?([\w.:-]+)[\"']?\s*[^<>]*?(/?)>",
    re.IGNORECASE,
)
_PARAMETER = compile_lazily(
    r"<(?:\w+:)?(?:parameter|param|arg|argument)(?:\s*=\s*|\s+(?:name|key)\s*=\s*)[\"']?([\w.-]+)[\"']?[^<>]*>(.*?)"
    r"(?:</(?:\w+:)?(?:parameter|param|arg|argument)(?:=[\w.-]+)?>|(?=<(?:\w+:)?(?:parameter|param|arg|argument)[ =]))",
    re.DOTALL | re.IGNORECASE,
)
_PARAMETER_END = compile_lazily(r"</(?:\w+:)?(?:parameter|param|arg|argument)\b", re.IGNORECASE)
_PAIR = compile_lazily(
    r"<arg_key>\s*(.*?)\s*</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL | re.IGNORECASE
)
_NAME_TAG = compile_lazily(r"<(name|tool_name|function_name|tool)>\s*([\w.:-]+)\s*</\1>", re.IGNORECASE)
_BODY_TAG = compile_lazily(
    r"<(arguments|parameters|args|input|tool_input|params)>(.*?)</\1>", re.DOTALL | re.IGNORECASE
)
_CLOSERS = r"</(?:\w+:)?(?:function|invoke|tool|tool_call|tool_use|call)s?>"


def find_candidates(text: str, known: KnownTools) -> Iterator[Candidate]:
    """Yield candidates of every notation with tags. Later ones may overlap earlier ones; the caller takes the first."""
    for match in _WRAPPER.finditer(text):
        if candidate := _parse_wrapper(text, match, known):
            yield candidate
    for match in _NAMED.finditer(text):
        if candidate := _parse_named_tag(text, match, known):
            yield candidate
    yield from _find_tool_tags(text, known)


def _parse_wrapper(text: str, match: re.Match[str], known: KnownTools) -> Candidate | None:
    end_tag = re.compile(rf"<\|?/{match[1]}\|?>|</\|?{match[1]}\|?>", re.IGNORECASE).search(text, match.end())
    end = end_tag.end() if end_tag else len(text)
    inside = text[match.end() : end_tag.start() if end_tag else len(text)]
    lead = len(inside) - len(inside.lstrip())
    body = inside.strip()
    body = re.sub(r"\A```\w*\n(.*?)\n?```\Z", r"\1", body, flags=re.DOTALL)
    if body[:1] in ("{", "["):
        calls, used = _parse_calls(body, known)
        if calls and end_tag is None:
            end = match.end() + lead + used
        if not calls:
            return _build_unreadable_call(match.start(), end, body, known) if end_tag else None
        return Candidate(start=match.start(), end=end, calls=calls, explicit=True)
    name = re.match(r"[`\"']?([\w.:-]+)[`\"']?\s*", body)
    if pairs := _PAIR.findall(body):
        written = strip_decoration(name[1]) if name else ""
        tool = known.resolve_name(written) or written
        calls = (Call(tool, known.convert_arguments(tool, dict(pairs))),) if tool and end_tag else ()
    elif inner := [each for part in _NAMED.finditer(body) if (each := _parse_named_tag(body, part, known))]:
        calls = tuple(call for each in inner for call in each.calls) if end_tag or inner else ()
    elif given := _NAME_TAG.search(body):
        calls = _parse_name_and_body(body, given, known) if end_tag else ()
    elif inner := list(_find_tool_tags(body, known)):
        calls = tuple(call for each in inner for call in each.calls)
    elif name and known.resolve_name(name[1]) and body[name.end() :][:1] == "{":
        calls = (parse_call_arguments(body[name.end() :], known.resolve_name(name[1]) or ""),)
    elif name and known.resolve_name(name[1]) and not body[name.end() :] and end_tag:
        calls = (Call(known.resolve_name(name[1]) or "", {}),)
    else:
        from agent.model.text_calls.python_calls import parse_python_calls

        calls = parse_python_calls(body, known) if end_tag else ()
    return Candidate(start=match.start(), end=end, calls=calls, explicit=True) if calls else None


def _build_unreadable_call(start: int, end: int, body: str, known: KnownTools) -> Candidate | None:
    """Return a call without arguments for invalid JSON between closed tags, to report it, if its tool is clear."""
    written = re.search(r"[\"']?(?:name|tool|function)[\"']?\s*:\s*[\"']([\w.:-]+)", body)
    tool = known.resolve_name(written[1]) if written else None
    if tool is None:
        return None
    return Candidate(start=start, end=end, calls=(Call(tool, None, body),), explicit=True)


def _parse_calls(body: str, known: KnownTools) -> tuple[tuple[Call, ...], int]:
    """Return the calls of consecutive JSON values, and the index where they end."""
    calls, at = list[Call](), 0
    while at < len(body) and body[at] in "{[":
        try:
            value, end = parse_json_at(body, at)
        except NotReadable:
            break
        found = extract_calls(value, known, explicit=True)
        if not found:
            break
        calls += found
        at = end + len(body[end:]) - len(body[end:].lstrip(" \t\r\n,;"))
    return tuple(calls), at


def _parse_named_tag(text: str, match: re.Match[str], known: KnownTools) -> Candidate | None:
    """Parse `<function=NAME>` and similar tags: parameters in tags of their own, or a JSON object."""
    tool = known.resolve_name(match[1]) or strip_decoration(match[1])
    if match[2]:  # <tool name="x" path="y"/>
        given = _parse_attributes(match[0])
        given.pop("name", None)
        return Candidate(
            start=match.start(),
            end=match.end(),
            calls=(Call(tool, known.convert_arguments(tool, given)),),
            explicit=True,
        )
    close = re.compile(_CLOSERS, re.IGNORECASE).search(text, match.end())
    inside = text[match.end() : close.start() if close else len(text)]
    end = close.end() if close else len(text)
    body = inside.strip()
    if body[:1] == "{":
        try:
            value, used = parse_json_at(body, 0)
        except NotReadable:
            if close is None:
                return None
            return Candidate(start=match.start(), end=end, calls=(Call(tool, None, body),), explicit=True)
        if isinstance(value, dict):
            if close is None:
                end = match.end() + inside.index("{") + used
            return Candidate(start=match.start(), end=end, calls=(Call(tool, value),), explicit=True)
    given = dict(_PARAMETER.findall(inside))
    if close is not None and given and _PARAMETER_END.search(_PARAMETER.sub("", inside)):
        # One closing tag too many: a value contains such a tag itself, so its end is ambiguous.
        return Candidate(start=match.start(), end=end, calls=(Call(tool, None, body),), explicit=True)
    if not given and tool in known:
        given = _parse_child_tags(inside, known, tool)
    if close is None or (not given and body):
        return None  # truncated, or something else
    return Candidate(
        start=match.start(), end=end, calls=(Call(tool, known.convert_arguments(tool, given)),), explicit=True
    )


def _parse_name_and_body(body: str, given: re.Match[str], known: KnownTools) -> tuple[Call, ...]:
    """Parse `<name>NAME</name><arguments>…</arguments>`."""
    tool = known.resolve_name(given[2]) or strip_decoration(given[2])
    part = _BODY_TAG.search(body)
    inside = (part[2] if part else body[given.end() :]).strip()
    if inside.startswith("{"):
        return (parse_call_arguments(inside, tool),)
    if tool not in known:
        return ()
    texts = dict(_PARAMETER.findall(inside)) or _parse_child_tags(inside, known, tool)
    return (Call(tool, known.convert_arguments(tool, texts)),) if texts or not inside else ()


def _find_tool_tags(text: str, known: KnownTools) -> Iterator[Candidate]:
    """Yield `<read><path>a.py</path></read>` and `<read path="a.py"/>`: tags named like a known tool."""
    for tool in known:
        pattern = re.compile(rf"<{re.escape(tool)}((?:\s+[\w-]+\s*=\s*(?:\"[^\"]*\"|'[^']*'))*)\s*(/?)>")
        for match in pattern.finditer(text):
            attributes = _parse_attributes(match[1])
            if not set(attributes) <= set(known.argument_schemas(tool)):
                continue
            if match[2]:
                call, end = Call(tool, known.convert_arguments(tool, attributes)), match.end()
            else:
                close = text.find(f"</{tool}>", match.end())
                if close < 0:
                    continue
                inside = text[match.end() : close]
                texts = {**attributes, **_parse_child_tags(inside, known, tool)}
                only = known.find_only_argument(tool)
                if inside.strip().startswith("{"):
                    call = parse_call_arguments(inside, tool)
                elif inside.strip() and not texts and only and not inside.lstrip().startswith("<"):
                    call = Call(tool, known.convert_arguments(tool, {only: inside}))
                elif inside.strip() and not texts:
                    continue
                else:
                    call = Call(tool, known.convert_arguments(tool, texts))
                end = close + len(tool) + 3
            yield Candidate(start=match.start(), end=end, calls=(call,), explicit=True)


def _parse_attributes(text: str) -> dict[str, str]:
    return {name: a or b for name, a, b in re.findall(r"([\w-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", text)}


def _parse_child_tags(inside: str, known: KnownTools, tool: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in known.argument_schemas(tool):
        opening, closing = f"<{name}>", f"</{name}>"
        start = inside.find(opening)
        end = inside.rfind(closing)
        if 0 <= start < end:
            found[name] = inside[start + len(opening) : end]
    return found
