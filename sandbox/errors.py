"""Errors that a user caused or can fix: one line for the problem, one for the remedy."""

from __future__ import annotations

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
