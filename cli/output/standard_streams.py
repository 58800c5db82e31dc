"""The standard streams as they really are: closed ones, a reader that went away, a device that is full."""

from __future__ import annotations

import os
import sys
from typing import TextIO


class OutputFailure:
    """What could not be written to standard output, first failure only; a reader that went away is none."""

    error: OSError | None = None


def open_missing_streams() -> None:
    """Put the null device where a standard stream is closed: a log opened later must not become that stream."""
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
    """To standard output, whole; where that fails, nothing ends but the output (see `Lost`)."""
    try:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        silence_stream(sys.stdout)
    except OSError as error:
        OutputFailure.error = OutputFailure.error or error
        silence_stream(sys.stdout)


def write_error(text: str) -> None:
    """To standard error, if anything can be written there."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:  # a closed pipe, a full device: there is nobody left to tell
        silence_stream(sys.stderr)


def silence_stream(stream: TextIO) -> None:
    """Send what else is written to a stream, and what it still holds, to the null device."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)
