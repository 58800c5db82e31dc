"""Worker process that parses texts: a chunk of files arrives as a line of JSON, a packed segment is returned.

The process ends with its parent, at the end of its input. A grammar that crashes ends only the worker.
"""

from __future__ import annotations

import gc
import json
import pickle
import struct
import sys
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from tools.code.index.file_listing import compute_text_key, read_content
from tools.code.index.parsing.file_facts import Facts, extract_facts, get_language
from tools.code.index.segment_format import Segment, build_segment

Task = tuple[int, str, str, str]
"""A text's number, its language, its key, and a path of a file with it."""

LENGTH = struct.Struct("<Q")


def read_segment(root: str, tasks: Sequence[Task]) -> Segment:
    """Build a segment of texts. A text that changed meanwhile is omitted: its file is checked again."""
    return build_segment(_read_facts(root, tasks))


def _read_facts(root: str, tasks: Sequence[Task]) -> Iterator[tuple[int, Facts]]:
    for number, name, wanted, path in tasks:
        data = read_content(root, path)
        language = get_language(name)
        if data is None or compute_text_key(language, data) != wanted:
            continue
        found = extract_facts(language, decode_text(data)) if b"\0" not in data[:8192] else None
        yield number, found or _create_empty_facts(name)


def _create_empty_facts(language: str) -> Facts:
    return Facts(
        language=language,
        package="",
        symbols=(),
        uses={},
        text_spans=(),
        imports=(),
        code={},
        prose={},
        lines=0,
    )


def build_empty_segment(tasks: Sequence[Task]) -> Segment:
    """Build a segment without facts for texts that crashed every worker."""
    return build_segment((number, _create_empty_facts(name)) for number, name, _, _ in tasks)


def decode_text(data: bytes) -> str:
    """Decode as UTF-8, else in the encoding that the text declares or seems to have."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        from sandbox.fs.text_encoding import find_encoding

        return data.decode(find_encoding(data).name, "replace")


def main(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Serve until the input ends."""
    gc.disable()  # facts have no cycles: collecting garbage among so many of them takes a tenth of the time
    for line in incoming:
        root, tasks = json.loads(line)
        reply = pickle.dumps(read_segment(root, [tuple(each) for each in tasks]), pickle.HIGHEST_PROTOCOL)
        outgoing.write(LENGTH.pack(len(reply)) + reply)
        outgoing.flush()


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
