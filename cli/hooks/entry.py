"""`patchwright hook run NAME …`: called by git. What it imports, every commit waits for."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from types import FrameType

from cli.hooks.contract import INTERNAL, LATE, NAMES, OK, USAGE

INSIDE = "PATCHWRIGHT_IN_HOOK"
"""Variable with the name of the hook that runs: what it starts shall not run it again."""

LIMITS = {"pre-push": 600, "post-merge": 10}
LIMIT = 60
"""Seconds that a hook may take. PATCHWRIGHT_HOOK_TIMEOUT is another number."""


class OutOfTime(Exception):
    """The hook's time is over."""


def main(arguments: Sequence[str]) -> int:
    """Run the hook named by the first argument with git's arguments behind it. Returns the exit code."""
    name, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if name not in NAMES:
        return _told(f"no hook {name!r}: there are {', '.join(NAMES)}", USAGE)
    if name in os.environ.get(INSIDE, "").split(","):
        return OK
    os.environ[INSIDE] = ",".join(filter(None, (os.environ.get(INSIDE, ""), name)))
    try:
        _alarm(_limit(name))
        return _hook(name)(rest)
    except OutOfTime:
        after = "" if name == "post-merge" else " Without it: git commit (or push) --no-verify"
        return _told(f"{name} took more than {_limit(name)} seconds and was stopped.{after}", LATE)
    except KeyboardInterrupt:
        return _told("interrupted", 130)
    except Exception as error:
        return _failed(name, error)
    finally:
        _alarm(0)


def _hook(name: str) -> Callable[[Sequence[str]], int]:
    if name == "pre-commit":
        from cli.hooks.pre_commit import pre_commit

        return pre_commit
    if name in ("prepare-commit-msg", "commit-msg"):
        from cli.hooks import messages

        return messages.prepare if name == "prepare-commit-msg" else messages.check
    if name == "pre-push":
        from cli.hooks.pre_push import pre_push

        return pre_push
    from cli.hooks.post_merge import post_merge

    return post_merge


def _limit(name: str) -> int:
    given = os.environ.get("PATCHWRIGHT_HOOK_TIMEOUT", "")
    return int(given) if given.isdecimal() and int(given) else LIMITS.get(name, LIMIT)


def _alarm(seconds: int) -> None:
    if seconds:
        signal.signal(signal.SIGALRM, _late)
    signal.alarm(seconds)


def _late(number: int, frame: FrameType | None) -> None:
    raise OutOfTime


def _failed(name: str, error: Exception) -> int:
    """A user's fault in one line; one of ours with its traceback, and the commit is not held up by it."""
    from sandbox.errors import UserError

    if isinstance(error, UserError):
        return _told(f"{name}: {error}" + (f"\n  {error.hint}" if error.hint else ""), USAGE)
    import traceback

    _told("".join(traceback.format_exception(error)), INTERNAL)
    return _told(f"{name}: this is a fault in Patchwright itself, and no reason to stop you", OK)


def _told(text: str, code: int) -> int:
    from sandbox.inert import sanitize_text

    print(sanitize_text(f"patchwright: {text}"), file=sys.stderr)
    return code
