"""`patchwright hook run NAME …`: called by git. Every commit waits for its imports."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from types import FrameType

from cli.hooks.contract import INTERNAL, LATE, NAMES, OK, USAGE

INSIDE = "PATCHWRIGHT_IN_HOOK"
"""Variable with the names of the running hooks, so that processes started by one do not run it again."""

LIMITS = {"pre-push": 600, "post-merge": 10}
LIMIT = 60
"""Seconds that a hook may take. PATCHWRIGHT_HOOK_TIMEOUT overrides it."""


class OutOfTime(Exception):
    """The hook has exceeded its time limit."""


def main(arguments: Sequence[str]) -> int:
    """Run the hook named by the first argument with git's arguments after it. Returns the exit code."""
    name, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if name not in NAMES:
        return _report_text(f"no hook {name!r}: there are {', '.join(NAMES)}", USAGE)
    if name in os.environ.get(INSIDE, "").split(","):
        return OK
    os.environ[INSIDE] = ",".join(filter(None, (os.environ.get(INSIDE, ""), name)))
    try:
        _set_alarm(_read_limit(name))
        return _load_hook(name)(rest)
    except OutOfTime:
        after = "" if name == "post-merge" else " Without it: git commit (or push) --no-verify"
        return _report_text(
            f"{name} took more than {_read_limit(name)} seconds and was stopped.{after}", LATE
        )
    except KeyboardInterrupt:
        return _report_text("interrupted", 130)
    except Exception as error:
        return _report_failure(name, error)
    finally:
        _set_alarm(0)


def _load_hook(name: str) -> Callable[[Sequence[str]], int]:
    if name == "pre-commit":
        from cli.hooks.pre_commit import run_pre_commit

        return run_pre_commit
    if name in ("prepare-commit-msg", "commit-msg"):
        from cli.hooks import commit_message

        return (
            commit_message.prepare_message
            if name == "prepare-commit-msg"
            else commit_message.check_written_message
        )
    if name == "pre-push":
        from cli.hooks.pre_push import run_pre_push

        return run_pre_push
    from cli.hooks.post_merge import run_post_merge

    return run_post_merge


def _read_limit(name: str) -> int:
    given = os.environ.get("PATCHWRIGHT_HOOK_TIMEOUT", "")
    return int(given) if given.isdecimal() and int(given) else LIMITS.get(name, LIMIT)


def _set_alarm(seconds: int) -> None:
    if seconds:
        signal.signal(signal.SIGALRM, _raise_out_of_time)
    signal.alarm(seconds)


def _raise_out_of_time(number: int, frame: FrameType | None) -> None:
    raise OutOfTime


def _report_failure(name: str, error: Exception) -> int:
    """Report a user's error in one line, an internal one with its traceback and without blocking the commit."""
    from sandbox.errors import UserError

    if isinstance(error, UserError):
        return _report_text(f"{name}: {error}" + (f"\n  {error.hint}" if error.hint else ""), USAGE)
    import traceback

    _report_text("".join(traceback.format_exception(error)), INTERNAL)
    return _report_text(f"{name}: this is a fault in Patchwright itself, and no reason to stop you", OK)


def _report_text(text: str, code: int) -> int:
    from sandbox.sanitize import sanitize_text

    print(sanitize_text(f"patchwright: {text}"), file=sys.stderr)
    return code
