"""Index entries, tree entries and blobs: reading and writing."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from sandbox.helpers.git_runner import LITERAL
from tools.git.broker import Broker
from tools.git.git_process import parse_blobs

_MOST_CHOSEN = 200
"""Paths that are given to git as arguments."""

Entry = tuple[str, str]
"""Mode ("100644", "100755", "120000", "160000") and object id."""


def read_index_entries(
    broker: Broker, index: Path | None = None, only: Collection[str] | None = None
) -> tuple[dict[str, Entry], set[str]]:
    """Return the entries of an index, and its unmerged paths.

    only: paths that are wanted; None for all. Others may be returned, too
    """
    entries: dict[str, Entry] = {}
    unmerged: set[str] = set()
    chosen = ("--", *only) if only is not None and len(only) <= _MOST_CHOSEN else ()
    if only is not None and not only:
        return entries, unmerged
    for line in broker.run(LITERAL, "ls-files", "--stage", "-z", *chosen, index=index).split_fields():
        facts, _, path = line.partition("\t")
        mode, name, stage = facts.split(" ")
        if stage == "0":
            entries[path] = (mode, name)
        else:
            unmerged.add(path)
    return entries, unmerged


def write_index_entries(
    broker: Broker, entries: Mapping[str, Entry | None], index: Path | None = None
) -> None:
    """Set entries of an index (None removes one); other entries are not changed."""
    # Removals first: they make room where a file becomes a folder.
    ordered = sorted(entries.items(), key=lambda item: item[1] is not None)
    lines = b""
    for path, entry in ordered:
        mode, name = entry or ("0", broker.null_id)
        lines += f"{mode} {name}\t".encode() + os.fsencode(path) + b"\0"
    broker.run("update-index", "-z", "--index-info", stdin=lines, index=index)


def diff_commits(broker: Broker, old: str, new: str) -> dict[str, tuple[Entry | None, Entry | None]]:
    """Return (old entry, new entry) of each path that differs between two commits; `old` may be "" for none."""
    trees = (old, new) if old else ("--root", new)
    options = ("--raw", "-r", "-z", "--no-renames", "--no-abbrev", "--no-commit-id")
    fields = broker.run("diff-tree", *options, *trees).split_fields()
    differing = {}
    for facts, path in zip(fields[::2], fields[1::2], strict=True):
        old_mode, new_mode, old_name, new_name, _ = facts.removeprefix(":").split(" ")
        before = (old_mode, old_name) if int(old_mode) else None
        differing[path] = (before, (new_mode, new_name) if int(new_mode) else None)
    return differing


def read_blobs(broker: Broker, names: Iterable[str]) -> dict[str, bytes]:
    """Return the bytes of blobs by id."""
    wanted = sorted(set(names))
    output = broker.run("cat-file", "--batch", stdin="".join(f"{name}\n" for name in wanted).encode()).stdout
    return parse_blobs(wanted, output)


def store_blob(broker: Broker, content: bytes) -> str:
    """Store bytes unfiltered; returns the blob's id."""
    return broker.run("hash-object", "-w", "--stdin", "--no-filters", stdin=content).stdout.decode().strip()


def store_filtered_blob(broker: Broker, path: str, content: bytes) -> str:
    """Store bytes as `git add` would at `path`, with the configured line endings and filters; returns the id."""
    return broker.run("hash-object", "-w", "--stdin", f"--path={path}", stdin=content).stdout.decode().strip()


def store_files(broker: Broker, paths: Sequence[str], *options: str) -> dict[str, str]:
    """Store files of the work tree; returns blob ids by path."""
    if not paths:
        return {}
    lines = b"".join(_quote_path(path) + b"\n" for path in paths)
    output = broker.run("hash-object", "-w", *options, "--stdin-paths", stdin=lines).stdout
    return dict(zip(paths, output.decode().split(), strict=True))


def compute_blob_id(content: bytes, like: str) -> str:
    """Compute a blob's id, with the hash algorithm of the id `like`."""
    import hashlib

    kind = hashlib.sha1 if len(like) == 40 else hashlib.sha256
    return kind(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _quote_path(path: str) -> bytes:
    """Quote a path as git does in line-based lists; only characters that would break the line are quoted."""
    name = os.fsencode(path)
    if not name.startswith(b'"') and b"\n" not in name and b"\r" not in name:
        return name
    name = name.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n").replace(b"\r", b"\\r")
    return b'"' + name + b'"'
