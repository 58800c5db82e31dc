"""Robust standard streams: closed streams, a closed pipe, a full device."""

from __future__ import annotations

import os
import sys
from typing import TextIO


class OutputFailure:
    """First failure to write to standard output; a closed pipe does not count."""

    error: OSError | None = None


def open_missing_streams() -> None:
    """Replace closed standard streams by the null device: a log opened later must not get their descriptor."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is not None:
            continue
        mode = os.O_WRONLY if number else os.O_RDONLY
        descriptor = os.open(os.devnull, mode)
        if descriptor != number:
            os.dup2(descriptor, number)
            os.close(descriptor)
        setattr(sys, name, os.fdopen(number, "w" if number else "r", encoding="utf-8"))


def write_line(line: bytes) -> None:
    """Write a line to standard output; on failure only the output ends (see `OutputFailure`)."""
    try:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        silence_stream(sys.stdout)
    except OSError as error:
        OutputFailure.error = OutputFailure.error or error
        silence_stream(sys.stdout)


def print_json(value: object) -> None:
    """Print a value as one line of JSON that is safe to display. Raises TypeError for what JSON cannot hold.

    Bytes of a file's name that are no UTF-8 become escapes, as in `json.dumps`.
    """
    import json

    from sandbox.sanitize import sanitize_json

    line = sanitize_json(json.dumps(value, ensure_ascii=False))
    print(line.encode("utf-8", "backslashreplace").decode())


def write_error(text: str) -> None:
    """Write to standard error; on failure, silence it."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:  # a closed pipe, a full device: no way left to report it
        silence_stream(sys.stderr)


def silence_stream(stream: TextIO) -> None:
    """Redirect a stream, with its buffered data, to the null device."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)
