"""Files by which a commit's hooks run programs: of their managers, of what these call, and what all of them name.

A hook in `.git/hooks` is often a launcher, which reads the programs to run in the work tree.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

from sandbox.errors import UserError
from sandbox.fs.regular_file import SOURCE
from sandbox.fs.untrusted_file import read_workspace_file
from sandbox.guards.hook_fields import is_manifest, read_hook_fields
from sandbox.guards.hook_programs import get_any_pattern, index_programs
from sandbox.guards.self_run_files import HOOK_FOLDERS, is_hook_file
from sandbox.guards.workspace_inventory import SKIPPED
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.git.hook_words import drop_inspected_words

COMMIT_HOOKS = (
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "reference-transaction",
    "post-index-change",
)
"""Hooks that `git commit` runs; not pre-push, post-checkout …."""

MOST_FILES = 3_000
"""Files that are compared with the trusted ones; a repository with more has them named by its own hooks."""

_MOST_FOLDERS = 20_000
_LONGEST_TEXT = 200_000
"""Characters of a file in which names of other files are looked for."""

_WORD = compile_lazily(r"[\w@./+*-]+")
_MODULE = compile_lazily(r"\s-m[\s\"',]+(\w+(?:\.\w+)*)")
_IMPORT = compile_lazily(
    r"(?m)^[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+([\w, \t]+)|import[ \t]+([\w., \t]+))"
)
_INTERPRETED = compile_lazily(
    r"(?:^|[\s;&|(\"'])(?:ba|da|z|k)?(?:sh|source|\.|python3?|node|ruby|perl|php|bun|run-parts)[ \t]+([\w./@+-]+)"
)
_INCLUDED = compile_lazily(
    r"(?m)^[ \t]*(?:-?s?include|import|mod\??)\b[ \t]+[\"']?([\w./-]+)|((?<![\w$.])\.{1,2}/[\w./@+-]+)"
)
"""What a file that people edit as code includes or starts; its other words are names of what it works on."""
_FOLDER_OF_SCRIPTS = compile_lazily(
    r"\b(?:source_dir(?:_local)?|plugin_directory|repo)[\"']?\s*[:=]\s*[\"']?([\w./-]+)"
)
_PROGRAM = compile_lazily(rb"(?<![\w.-])[a-z][a-z0-9-]*(?![\w./-])")
_ENDINGS = ("", ".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".json", ".sh", ".py", ".yml", ".yaml")
"""Endings that a name in a script may leave out."""

_TEXTUAL = (".md", ".txt", ".rst", ".lock", ".csv", ".svg", ".png", ".html", ".css", ".snap", ".log", ".xml")
"""Endings of files that no hook runs or obeys when it names them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookFile:
    """A file, or the fields of a manifest, that decides what a hook runs. name: relative to the work tree"""

    name: str
    digest: str
    is_part: bool = False


def list_hook_files(root: Path, hooks: Sequence[bytes]) -> list[HookFile]:
    """Return the files of the work tree that decide what its hooks run, in their order. hooks: their contents"""
    names, manifests, configs = _find_files(root)
    found: dict[str, bytes] = {}
    parts: dict[str, bytes] = {}
    texts: list[bytes] = []
    waiting: deque[str] = deque(names)
    for text in hooks:
        waiting += _list_named_files(root, root, text)
        texts.append(text)
    for name in manifests:
        if (content := _read(root, name)) is not None and (part := _read_part(name, content)):
            parts[name] = part
            text = "\n".join(_list_values(json.loads(part))).encode()
            waiting += _list_named_files(root, (root / name).parent, text, with_matches=False)
            texts.append(text)
    called: set[str] = set()
    while True:
        while waiting and len(found) < MOST_FILES:
            name = waiting.popleft()
            if name in found or (content := _read(root, name)) is None:
                continue
            found[name] = content
            if name in called:
                waiting += _list_included_files(root, (root / name).parent, content)
            elif not is_manifest(name):
                texts.append(content)
                script = read_as_script(name, content)
                waiting += _list_named_files(root, (root / name).parent, script)
        more = [name for name in _list_called_files(configs, texts) if name not in called]
        texts.clear()
        if not more or len(found) >= MOST_FILES:
            break
        called.update(more)
        waiting += more
    files = [HookFile(name=name, digest=_hash(content)) for name, content in found.items()]
    files += [
        HookFile(name=name, digest=_hash(part), is_part=True)
        for name, part in parts.items()
        if name not in found
    ]
    return sorted(files, key=lambda each: each.name)


def _list_values(value: object) -> Iterator[str]:
    """Yield the texts in a table of JSON, but for its names: those of `lint-staged` are files that it works on."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _list_values(each)


def read_as_script(name: str, content: bytes) -> bytes:
    """Return the content of a hook as it is run: git, and husky, give one that names no interpreter to the shell."""
    is_hook = name.rpartition("/")[2] in COMMIT_HOOKS
    return (
        b"#!/bin/sh\n" + content
        if is_hook and not content.startswith(b"#!") and b"\0" not in content
        else content
    )


def read_part_digest(root: Path, name: str) -> tuple[str, str]:
    """Return the digest of a manifest's fields, and that of the whole file, both as they are now."""
    content = _read(root, name) or b""
    return _hash(_read_part(name, content)), _hash(content)


def _find_files(root: Path) -> tuple[list[str], list[str], list[str]]:
    """Return the files of managers at any depth, the manifests, and what programs obey by themselves, nearest first."""
    names: list[str] = []
    manifests: list[str] = []
    configs: list[str] = []
    is_config = get_any_pattern().fullmatch
    waiting, number = deque([("", False)]), 0
    while waiting and number < _MOST_FOLDERS:
        folder, is_inside = waiting.popleft()
        number += 1
        own = folder.rpartition("/")[2]
        try:
            entries = sorted(os.scandir(root / folder), key=lambda each: each.name)
        except OSError:  # not readable, or gone
            continue
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in SKIPPED and entry.name != ".git":
                    waiting.append((path, is_inside or entry.name.casefold() in HOOK_FOLDERS))
            elif is_inside or is_hook_file((own, entry.name) if own else (entry.name,)):
                names.append(path)
            else:
                if is_manifest(entry.name):
                    manifests.append(path)
                if is_config(f"{own}/{entry.name}"):
                    configs.append(path)
    return names, manifests, configs


def _list_named_files(
    root: Path, folder: Path, content: bytes, *, with_matches: bool = True
) -> Iterator[str]:
    """Yield the files of the work tree that a file names, relative to its folder or to the top.

    with_matches: and those that a word with wildcards fits
    """
    if b"\0" in content[:1000]:  # a program
        return
    text = drop_inspected_words(content.decode("utf-8", "replace")[:_LONGEST_TEXT])
    words = dict.fromkeys(each for each in _WORD.findall(text) if "/" in each or "." in each[1:])
    words |= {match.replace(".", "/"): None for match in _MODULE.findall(text)}
    for match in _MODULE.findall(text):
        package = match.replace(".", "/")
        words |= {f"{package}/__main__.py": None, f"{package}/__init__.py": None}
    words |= dict.fromkeys((*_INTERPRETED.findall(text), *_list_imports(text)))
    for word in words:
        if "*" in word:
            yield from _list_matches(root, word) if with_matches else ()
            yield from _list_programs(root, folder, word.removesuffix("/*"))
            continue
        yield from _list_programs(root, folder, word)
        parts = [each for each in word.split("/") if each not in ("", ".")]
        for start in range(min(len(parts), 4)):  # `$ROOT/a/b.sh`: the first is a variable
            if (name := _find_file(root, folder, "/".join(parts[start:]))) is not None:
                yield name
                break
    for match in _FOLDER_OF_SCRIPTS.findall(text):
        yield from _list_matches(root, f"{match.removeprefix('./').strip('/')}/**/*")


def _list_imports(text: str) -> Iterator[str]:
    """Yield the paths that statements of Python import, relative to the importing file or to the top."""
    for origin, names, plain in _IMPORT.findall(text):
        for name in plain.split(","):
            if path := name.split(" as ")[0].strip().replace(".", "/"):
                yield from (path, f"{path}/__init__.py")
        dots = len(origin) - len(origin.lstrip("."))
        base = "../" * max(dots - 1, 0) + origin.lstrip(".").replace(".", "/")
        if base:
            yield from (base, f"{base}/__init__.py")
        for name in filter(None, (each.split(" as ")[0].strip() for each in names.split(","))):
            path = f"{base}/{name}" if base and not base.endswith("/") else f"{base}{name}"
            yield from (path, f"{path}/__init__.py")


def _list_included_files(root: Path, folder: Path, content: bytes) -> Iterator[str]:
    """Yield what a file includes or starts: its other words are files that it works on."""
    text = content.decode("utf-8", "replace")[:_LONGEST_TEXT]
    words = [first or second for first, second in _INCLUDED.findall(text)]
    for word in dict.fromkeys((*words, *_INTERPRETED.findall(text), *_list_imports(text))):
        if (name := _find_file(root, folder, word)) is not None:
            yield name


def _list_programs(root: Path, folder: Path, word: str) -> Iterator[str]:
    """Yield the programs in a folder that a hook names, which may start all of them."""
    for base in dict.fromkeys((folder, root)):
        path = os.path.normpath(base / word.lstrip("/"))
        if not word or not path.startswith(f"{root}/") or not Path(path).is_dir():
            continue
        inside = path[len(str(root)) + 1 :]
        if SKIPPED.isdisjoint(inside.split("/")) and ".git" not in inside.split("/"):
            try:
                entries = sorted(os.scandir(path), key=lambda each: each.name)[:MOST_FILES]
            except OSError:
                continue
            is_of_parts = inside.endswith(".d")
            yield from (
                f"{inside}/{each.name}"
                for each in entries
                if each.is_file() and (is_of_parts or os.access(each.path, os.X_OK))
            )


def _list_matches(root: Path, pattern: str) -> Iterator[str]:
    parts = pattern.strip("/").split("/")
    if (
        ".." in parts
        or parts[0] in ("*", "**", ".", "")
        or (parts[-1] in ("*", "**", "*.*") and "**" not in parts)
    ):
        return
    try:
        found = [path for path, _ in zip(root.glob("/".join(parts)), range(MOST_FILES), strict=False)]
    except (ValueError, OSError, NotImplementedError):
        return
    yield from (path.relative_to(root).as_posix() for path in sorted(found) if path.is_file())


def _find_file(root: Path, folder: Path, name: str) -> str | None:
    """Return the path of the file that a name means, None if there is none in the work tree."""
    for base in dict.fromkeys((folder, root)):
        for ending in _ENDINGS:
            path = os.path.normpath(base / f"{name}{ending}")
            if os.path.isfile(path) and path.startswith(f"{root}/"):  # noqa: PTH113 (thousands of names)
                found = path[len(str(root)) + 1 :]
                parts = found.split("/")
                if SKIPPED.isdisjoint(parts) and ".git" not in parts and not found.endswith(_TEXTUAL):
                    return found
    return None


def _list_called_files(configs: Sequence[str], texts: Sequence[bytes]) -> list[str]:
    """Return the files that programs obey which these texts call by name."""
    words = {word.decode() for text in texts for word in _PROGRAM.findall(text[:_LONGEST_TEXT])}
    patterns = dict.fromkeys(each for name, each in index_programs().items() if name in words)
    shown = {name: "/".join(name.split("/")[-2:]) for name in configs}
    return [name for name, tail in shown.items() if any(each.fullmatch(tail) for each in patterns)]


def _read_part(name: str, content: bytes) -> bytes:
    """Return the fields of a manifest by which hooks run programs, b"" for none."""
    fields = read_hook_fields(name, content, with_commands=True)
    return json.dumps(fields, sort_keys=True, default=str).encode() if fields else b""


def _read(root: Path, name: str) -> bytes | None:
    try:
        return read_workspace_file(root, name, SOURCE)
    except UserError:  # a pipe, a link that leads outside, not readable: its name alone counts
        return os.fsencode(name)


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
