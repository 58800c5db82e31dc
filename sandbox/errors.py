"""Errors that a user caused or can fix: one line for the problem, one for the remedy."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum


class Fault(StrEnum):
    """Category of a user error; each has its own documented exit code (see agent/exit_codes.py)."""

    USAGE = "usage"
    CONFIGURATION = "configuration"
    NOT_A_REPOSITORY = "not-a-repository"
    NO_TEST_RUNNER = "no-test-runner"
    STORAGE_FULL = "storage-full"
    READ_ONLY = "read-only"
    CREDENTIALS = "credentials"
    MODEL_UNREACHABLE = "model-unreachable"
    DENIED = "denied"


class UserError(Exception):
    """A failure with a cause outside the program: shown as one clear line, never as a traceback.

    message: what happened and where, quoting the offending value with !r
    hint: what to do about it, as a sentence or a command line; empty if there is nothing to add
    """

    def __init__(self, fault: Fault, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.fault = fault
        self.message = message
        self.hint = hint


@contextmanager
def translate_write_errors(place: str) -> Iterator[None]:
    """Raise UserError for a full disk and missing permissions; any other error is a bug and propagates.

    place: path for the message, unless the error has an absolute one
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _WRITE_FAULTS:
            raise
        fault, reason, hint = _WRITE_FAULTS[error.errno]
        name = error.filename  # as given to the system: perhaps relative to a handle
        where = name if isinstance(name, str) and name.startswith("/") else place
        raise UserError(fault, f"cannot write {where!r}: {reason}", hint) from None


_WRITE_FAULTS = {
    errno.ENOSPC: (Fault.STORAGE_FULL, "the disk is full", "Free some space, then go on: nothing was lost."),
    errno.EDQUOT: (Fault.STORAGE_FULL, "your disk quota is used up", "Free some space, then go on."),
    errno.EROFS: (Fault.READ_ONLY, "the file system is read-only", ""),
    errno.EACCES: (Fault.READ_ONLY, "no permission", "Change the mode of the file or of its folder."),
    errno.EPERM: (Fault.READ_ONLY, "the system forbids it", "Look at its attributes (lsattr) and owner."),
}
