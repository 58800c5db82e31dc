"""Outcomes of a turn and their exit codes. The table is a stable interface: codes keep their meaning."""

from __future__ import annotations

from enum import IntEnum

from sandbox.errors import Fault


class Exit(IntEnum):
    """Exit codes of `patchwright run` and of every other command that can fail in these ways."""

    DONE = 0
    TESTS_FAIL = 1
    USAGE = 2
    NOTHING_TO_DO = 3
    LIMIT = 4
    DENIED = 5
    CONFIGURATION = 6
    MODEL_UNREACHABLE = 7
    CREDENTIALS = 8
    NOT_A_REPOSITORY = 9
    NO_TEST_RUNNER = 10
    STORAGE_FULL = 11
    READ_ONLY = 12
    NOT_ACHIEVED = 13
    CHEATED = 14
    INTERNAL = 70
    INTERRUPTED = 130

    @property
    def label(self) -> str:
        """The name in events and in `--output json`, e.g. "tests-fail"."""
        return self.name.lower().replace("_", "-")


MEANING: dict[Exit, str] = {
    Exit.DONE: "done, and verified where there was something to verify",
    Exit.TESTS_FAIL: "finished, but tests fail",
    Exit.USAGE: "bad usage of the command line",
    Exit.NOTHING_TO_DO: "nothing to do (for example: all tests pass already)",
    Exit.LIMIT: "a limit on steps, time, tokens or cost was reached",
    Exit.DENIED: "the policy or a person denied what the task needed",
    Exit.CONFIGURATION: "a setting or model name is wrong or missing",
    Exit.MODEL_UNREACHABLE: "the model could not be reached, after retries",
    Exit.CREDENTIALS: "the model's provider refused the key, or there is none",
    Exit.NOT_A_REPOSITORY: "the folder is not in a git repository",
    Exit.NO_TEST_RUNNER: "files were changed, or were to be, but no tests checked them: no runner, or it was refused",
    Exit.STORAGE_FULL: "no space left on a device",
    Exit.READ_ONLY: "the folder cannot be written",
    Exit.NOT_ACHIEVED: "finished without reaching the goal, or a person has to decide (a doubtful change, weakened "
    "tests)",
    Exit.CHEATED: "the checker of an evaluation's task rewards a cheat",
    Exit.INTERNAL: "a fault in Patchwright itself",
    Exit.INTERRUPTED: "interrupted (Ctrl-C, SIGTERM or SIGHUP)",
}

BY_FAULT: dict[Fault, Exit] = {
    Fault.USAGE: Exit.USAGE,
    Fault.CONFIGURATION: Exit.CONFIGURATION,
    Fault.NOT_A_REPOSITORY: Exit.NOT_A_REPOSITORY,
    Fault.NO_TEST_RUNNER: Exit.NO_TEST_RUNNER,
    Fault.STORAGE_FULL: Exit.STORAGE_FULL,
    Fault.READ_ONLY: Exit.READ_ONLY,
    Fault.CREDENTIALS: Exit.CREDENTIALS,
    Fault.MODEL_UNREACHABLE: Exit.MODEL_UNREACHABLE,
    Fault.DENIED: Exit.DENIED,
}
