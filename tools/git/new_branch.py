"""New branches at a commit: never over a branch that is there, and HEAD moved to one only where it still was."""

from __future__ import annotations

from collections.abc import Callable

from sandbox.errors import UserError
from tools.core.action import ToolFailure
from tools.git.broker import Broker
from tools.git.commits.publish import read_head
from tools.git.index_lock import IndexLock

_EXISTS = "already exists"


def create_branch(run: Callable[..., object], name: str, commit: str) -> str:
    """Create a branch at a commit, with a number after its name if that is taken; return its name.

    run: runs git, and raises UserError or ToolFailure when it fails
    """
    made, number = name, 1
    while True:
        try:
            # The old value: the reference must not exist.
            run(
                "update-ref",
                "-m",
                "patchwright: a new branch",
                f"refs/heads/{made}",
                commit,
                "0" * len(commit),
            )
        except (UserError, ToolFailure) as error:
            if _EXISTS not in str(error):
                raise
            number += 1
            made = f"{name}-{number}"
        else:
            return made


def switch_to_new_branch(broker: Broker, name: str) -> None:
    """Switch to a new branch at the current commit; the files and the index are unchanged.

    git itself cannot commit or switch meanwhile. Raises ToolFailure.
    """
    with IndexLock(broker):
        head = read_head(broker)
        made = create_branch(broker.run, name, head.commit) if head.commit else name
        if read_head(broker) != head:
            raise ToolFailure(
                "git_commit: nothing was committed: somebody else committed just now. Try again."
            )
        broker.run("symbolic-ref", "-m", "patchwright: a branch of its own", "HEAD", f"refs/heads/{made}")
