"""Lines of git commands that the shell tool has run outside the sandbox, where git's data can be written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox.policy.decision import Mode
from tools.core.workspace import Workspace

if TYPE_CHECKING:
    from sandbox.policy.shell import Judgement


def find_git_commands(
    at: Workspace, line: str, judgement: Judgement | None = None
) -> tuple[tuple[str, ...], ...]:
    """Return the commands of a line that is run there once it is allowed; () for any other line, and where commands
    can write git's data themselves, or nothing may be written.

    judgement: of the line, if there is one already
    """
    if "git" not in line or at.sandbox.name == "unconfined" or at.mode is Mode.READ_ONLY:
        return ()
    from sandbox.policy.shell import judge_command_line
    from sandbox.policy.shell.git_lines import read_git_line

    return read_git_line(line, judgement or judge_command_line(line, root=at.root), at.root)
