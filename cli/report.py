"""One clear line for a person's mistake, and a second that says what to do."""

from __future__ import annotations

import sys

from sandbox.errors import UserError


def complain(error: UserError) -> None:
    """Write an error to standard error: `patchwright: what happened`, then what to do about it."""
    print(f"patchwright: {error.message}", file=sys.stderr)
    if error.hint:
        print(f"  {error.hint}", file=sys.stderr)
