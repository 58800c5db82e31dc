"""Files in which a project states rules for commit messages, read as data: nothing of the project is run.

commitlint, commitizen, gitlint, conventional-pre-commit and cocogitto; a sign-off by the DCO. Configuration that is a
program (`commitlint.config.js`) is read for the rules that it writes out, and for presets by their names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from sandbox.fs.regular_file import SETTINGS, read_regular_text
from sandbox.lazy_pattern import compile_lazily
from sandbox.parsed_data import parse_json, parse_toml
from tools.git.messages.message_rules import CONVENTIONAL_TYPES, NO_RULES, MessageRules

_SCRIPTS = ("js", "cjs", "mjs", "ts", "cts", "mts")
_COMMITLINT = (
    *(f".commitlintrc{end}" for end in ("", ".json", ".yaml", ".yml", *(f".{each}" for each in _SCRIPTS))),
    *(f"commitlint.config.{each}" for each in _SCRIPTS),
)
_COMMITIZEN = (".cz.toml", "cz.toml", ".cz.json", "cz.json", ".cz.yaml", "cz.yaml", "pyproject.toml")
_COMMITIZEN_TYPES = (*CONVENTIONAL_TYPES, "bump")
_CONTRIBUTING = (
    "CONTRIBUTING.md",
    "CONTRIBUTING.rst",
    "CONTRIBUTING",
    ".github/CONTRIBUTING.md",
    "docs/CONTRIBUTING.md",
)


def read_message_rules(root: Path) -> MessageRules:
    """Return the rules of a project, NO_RULES if it states none."""
    rules = NO_RULES
    for read in (_read_commitlint, _read_commitizen, _read_gitlint, _read_pre_commit, _read_cocogitto):
        found = read(root)
        if found is not None:
            rules = _join(rules, found)
    if requires_sign_off(root):
        rules = replace(rules, is_signed=True)
    return rules


def describe_project_rules(root: Path) -> str:
    """Return the rules in words, one a line, for who writes a message in a session; "" if the project states none."""
    rules = read_message_rules(root)
    return "\n".join(f"- {each}" for each in rules.describe())


def requires_sign_off(root: Path) -> bool:
    """Return whether a project has the DCO's bot, or its rules for contributions speak of the sign-off."""
    if _read(root, ".github/dco.yml"):
        return True
    return any("Signed-off-by" in _read(root, name) for name in _CONTRIBUTING)


def _read(root: Path, name: str) -> str:
    return read_regular_text(root / name, SETTINGS, "replace") or ""


def _join(first: MessageRules, second: MessageRules) -> MessageRules:
    """Return the rules of two tools: of numbers and lists the stricter, if both have some."""
    values: dict[str, Any] = {}
    for name in (each.name for each in fields(MessageRules)):
        one, two = getattr(first, name), getattr(second, name)
        if isinstance(one, bool):
            values[name] = one or two
        elif isinstance(one, int):
            shorter = min(filter(None, (one, two)), default=0)
            values[name] = max(one, two) if name.endswith("shortest") else shorter
        elif name in ("types", "scopes") and one and two:
            values[name] = tuple(each for each in one if each in two) or one
        elif isinstance(one, str):
            values[name] = one + "".join(each for each in two if each not in one)
        else:
            values[name] = (*one, *(each for each in two if each not in one))
    return MessageRules(**values)


def _parse_yaml(text: str) -> Any:
    import yaml

    try:
        return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # both are safe loaders
    except (yaml.YAMLError, ValueError, RecursionError):  # ValueError: an impossible date
        return None


# ── commitlint ──────────────────────────────────────────────────────────────────────────────────────

_CONVENTIONAL: Mapping[str, Sequence[Any]] = {
    "body-max-line-length": [2, "always", 100],
    "footer-max-line-length": [2, "always", 100],
    "header-max-length": [2, "always", 100],
    "subject-case": [2, "never", ["sentence-case", "start-case", "pascal-case", "upper-case"]],
    "subject-empty": [2, "never"],
    "subject-full-stop": [2, "never", "."],
    "type-empty": [2, "never"],
    "type-enum": [2, "always", list(CONVENTIONAL_TYPES)],
}
"""Errors of @commitlint/config-conventional 20."""

_PRESETS: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "conventional": _CONVENTIONAL,
    "angular": {
        **_CONVENTIONAL,
        "header-max-length": [2, "always", 72],
        "type-enum": [2, "always", [each for each in CONVENTIONAL_TYPES if each != "chore"]],
    },
}


def _read_commitlint(root: Path) -> MessageRules | None:
    """Return the rules of the first configuration that commitlint would find."""
    source, data = next(_list_commitlint(root), ("", None))
    if not isinstance(data, Mapping):
        return None
    named = data.get("extends") or ()
    rules: dict[str, Sequence[Any]] = {}
    for preset in [named] if isinstance(named, str) else named:
        words = str(preset).rpartition("/")[2].removeprefix("config-").removeprefix("commitlint-config-")
        rules |= _PRESETS.get(words, {})
    own = data.get("rules")
    rules |= {str(name): rule for name, rule in own.items()} if isinstance(own, Mapping) else {}
    return _build_commitlint(source, rules) if rules else None


def _list_commitlint(root: Path) -> Iterator[tuple[str, Any]]:
    for name in _COMMITLINT:
        text = _read(root, name)
        if text:
            yield name, _read_script(text) if name.endswith(_SCRIPTS) else _parse_yaml(text)  # JSON is YAML
    text = _read(root, "package.json")
    if '"commitlint"' in text:
        try:
            found = parse_json(text).get("commitlint")
        except (ValueError, AttributeError):
            return
        if isinstance(found, Mapping):
            yield "package.json", found


_COMMENT = compile_lazily(
    r"""(?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|//[^\n]*|/\*.*?\*/""", re.DOTALL
)
_RULE = compile_lazily(r"""["']?(?P<name>[a-z]+(?:-[a-z]+)+)["']?\s*:\s*(?=\[)""")
_SEVERITY = compile_lazily(r"\bRuleConfigSeverity\.(Disabled|Warning|Error)\b")
_LEVELS = {"Disabled": "0", "Warning": "1", "Error": "2"}


def _read_script(text: str) -> Mapping[str, Any]:
    """Return the presets and the rules that a program writes out as literals."""
    text = _COMMENT.sub(lambda found: found["text"] or " ", text)
    text = _SEVERITY.sub(lambda found: _LEVELS[found[1]], text)
    extends = re.search(r"""["']?\bextends["']?\s*:\s*(\[[^\]]*\]|["'][^"']*["'])""", text)
    rules = {}
    for match in _RULE.finditer(text):
        # a list of JSON with a final comma is one of YAML
        value = _parse_yaml(_quote_twice(_cut_list(text, match.end())))
        if isinstance(value, list):
            rules[match["name"]] = value
    return {"extends": _parse_yaml(extends[1]) if extends else (), "rules": rules}


def _quote_twice(text: str) -> str:
    """Return literals of JavaScript with strings as JSON has them."""
    import json

    return _STRING.sub(lambda found: json.dumps(re.sub(r"\\(.)", r"\1", found[0][1:-1])), text)


_STRING = compile_lazily(r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\$])*`""")


def _cut_list(text: str, start: int) -> str:
    """Return the list that begins at an opening bracket, "" if it has no end."""
    depth, quote = 0, ""
    for place in range(start, min(len(text), start + 20_000)):
        char = text[place]
        if quote:
            quote = "" if char == quote and text[place - 1] != "\\" else quote
        elif char in "\"'`":
            quote = char
        elif char in "[]":
            depth += 1 if char == "[" else -1
            if not depth:
                return text[start : place + 1]
    return ""


def _build_commitlint(source: str, rules: Mapping[str, Any]) -> MessageRules:
    """Return what is an error; a rule is [level, always or never, value]."""
    active: dict[tuple[str, bool], Any] = {}
    for name, rule in rules.items():
        if isinstance(rule, Sequence) and not isinstance(rule, str) and rule and rule[0] == 2:
            active[name, len(rule) < 2 or rule[1] != "never"] = rule[2] if len(rule) > 2 else None

    def number(name: str) -> int:
        value = active.get((name, True))
        return value if isinstance(value, int) and not isinstance(value, bool) else 0

    def words(name: str, is_wanted: bool = True) -> tuple[str, ...]:
        value = active.get((name, is_wanted))
        if isinstance(value, Mapping):  # with delimiters
            value = value.get("types") or value.get("scopes") or ()
        listed = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        return tuple(str(each) for each in listed if isinstance(each, str | int))

    signed = words("signed-off-by") or words("trailer-exists")
    return MessageRules(
        sources=(source,),
        is_conventional=("type-empty", False) in active,
        types=words("type-enum"),
        scopes=words("scope-enum"),
        needs_scope=("scope-empty", False) in active,
        has_no_scope=("scope-empty", True) in active,
        header_length=number("header-max-length"),
        header_shortest=number("header-min-length"),
        body_length=number("body-max-line-length"),
        footer_length=number("footer-max-line-length"),
        refused_cases=words("subject-case", False),
        wanted_cases=words("subject-case"),
        stop="".join(words("subject-full-stop", False)),
        needs_body=("body-empty", False) in active,
        body_shortest=number("body-min-length"),
        is_signed=any(each.startswith("Signed-off-by") for each in signed),
        trailers=tuple(each for each in signed if not each.startswith("Signed-off-by")),
    )


# ── others ──────────────────────────────────────────────────────────────────────────────────────────


def _read_commitizen(root: Path) -> MessageRules | None:
    for name in _COMMITIZEN:
        text = _read(root, name)
        if "commitizen" not in text:
            continue
        try:
            data = parse_toml(text) if name.endswith(".toml") else _parse_yaml(text)
            section = (data.get("tool") or {}).get("commitizen") or data.get("commitizen")
        except (ValueError, AttributeError):
            continue
        if isinstance(section, Mapping):
            return _build_commitizen(name, section)
    return None


def _build_commitizen(source: str, section: Mapping[str, Any]) -> MessageRules | None:
    limit = section.get("message_length_limit")
    length = limit if isinstance(limit, int) and limit > 0 else 0
    rules = MessageRules(sources=(source,), header_length=length)
    kind = section.get("name", "cz_conventional_commits")
    if kind == "cz_conventional_commits":
        return replace(rules, is_conventional=True, types=_COMMITIZEN_TYPES)
    if kind == "cz_jira":
        return replace(rules, header_patterns=(r".*[A-Z]{2,}-[0-9]+( .*| \#.*)?$",))
    custom = section.get("customize")
    pattern = custom.get("schema_pattern") if isinstance(custom, Mapping) else None
    if isinstance(pattern, str) and pattern:
        return replace(rules, message_patterns=(pattern,))
    return rules if length else None


_GITLINT_RULES = {
    "T1": "title-max-length",
    "T7": "title-match-regex",
    "T8": "title-min-length",
    "B1": "body-max-line-length",
    "B5": "body-min-length",
    "B6": "body-is-missing",
    "CT1": "contrib-title-conventional-commits",
    "CC1": "contrib-body-requires-signed-off-by",
}


def _read_gitlint(root: Path) -> MessageRules | None:
    """Return the rules of `.gitlint`, with those that gitlint has without a word."""
    import configparser

    parser = configparser.RawConfigParser()
    text = _read(root, ".gitlint")
    if not text:
        return None
    try:
        parser.read_string(text)
    except configparser.Error:
        return None
    general = parser["general"] if parser.has_section("general") else {}

    def names(key: str) -> set[str]:
        return {_GITLINT_RULES.get(each.strip(), each.strip()) for each in general.get(key, "").split(",")}

    ignored, contrib = names("ignore"), names("contrib")

    def option(rule: str, key: str, default: str = "") -> str:
        if rule in ignored:
            return ""
        places = (rule, *(short for short, long in _GITLINT_RULES.items() if long == rule))
        return next(
            (parser.get(each, key, fallback=default) for each in places if parser.has_section(each)), default
        )

    def number(rule: str, key: str, default: str) -> int:
        value = option(rule, key, default)
        return int(value) if value.isdecimal() else 0

    conventional = "contrib-title-conventional-commits" in contrib - ignored
    listed = option("contrib-title-conventional-commits", "types", ",".join(CONVENTIONAL_TYPES))
    pattern = option("title-match-regex", "regex")
    return MessageRules(
        sources=(".gitlint",),
        is_conventional=conventional,
        types=tuple(filter(None, (each.strip() for each in listed.split(",")))) if conventional else (),
        header_length=number("title-max-length", "line-length", "72"),
        header_shortest=number("title-min-length", "min-length", "5"),
        body_length=number("body-max-line-length", "line-length", "80"),
        footer_length=number("body-max-line-length", "line-length", "80"),
        body_shortest=number("body-min-length", "min-length", "20"),
        needs_body="body-is-missing" not in ignored,
        stop="" if {"T3", "title-trailing-punctuation"} & ignored else "?:!.,;",
        header_patterns=(pattern,) if pattern else (),
        is_signed="contrib-body-requires-signed-off-by" in contrib - ignored,
    )


def _read_pre_commit(root: Path) -> MessageRules | None:
    """Return the rules of the hook conventional-pre-commit, or of gitlint and commitizen with no file of their own."""
    text = _read(root, ".pre-commit-config.yaml")
    if "conventional-pre-commit" not in text and "id: commitizen" not in text:
        return None
    data = _parse_yaml(text)
    repos = data.get("repos") if isinstance(data, Mapping) else None
    found: MessageRules | None = None
    for repo in repos if isinstance(repos, list) else ():
        hooks = repo.get("hooks") if isinstance(repo, Mapping) else None
        for hook in hooks if isinstance(hooks, list) else ():
            if not isinstance(hook, Mapping):
                continue
            given = hook.get("args")
            args = [str(each) for each in given] if isinstance(given, list) else []
            if hook.get("id") == "conventional-pre-commit":
                found = _build_conventional(args)
            elif hook.get("id") == "commitizen" and found is None and _read_commitizen(root) is None:
                found = MessageRules(
                    sources=(".pre-commit-config.yaml",), is_conventional=True, types=_COMMITIZEN_TYPES
                )
    return found


def _build_conventional(args: Sequence[str]) -> MessageRules:
    types: list[str] = []
    scopes: list[str] = []
    words = iter(args)
    for word in words:
        if word.startswith("--scopes"):
            scopes += (word.partition("=")[2] or next(words, "")).split(",")
        elif not word.startswith("-"):
            types.append(word)
    # feat and fix are always allowed
    return MessageRules(
        sources=(".pre-commit-config.yaml",),
        is_conventional=True,
        types=tuple(dict.fromkeys(("feat", "fix", *types))) if types else CONVENTIONAL_TYPES,
        scopes=tuple(filter(None, scopes)),
        needs_scope="--force-scope" in args,
    )


def _read_cocogitto(root: Path) -> MessageRules | None:
    text = _read(root, "cog.toml")
    if not text:
        return None
    try:
        data = parse_toml(text)
    except ValueError:
        return None
    own = data.get("commit_types")
    scopes = data.get("scopes")
    return MessageRules(
        sources=("cog.toml",),
        is_conventional=True,
        types=(*CONVENTIONAL_TYPES, *(own if isinstance(own, Mapping) else ())),
        scopes=tuple(map(str, scopes)) if isinstance(scopes, list) else (),
    )
