"""Protocol of a workspace's fixed part, used by services and test runners."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sandbox.fs.workspace_tree import Tree
    from sandbox.policy.decision import Mode
    from sandbox.policy.trust import Trusts
    from sandbox.process.command import Sandbox
    from tools.core.artifacts import Artifacts
    from tools.core.tool_folders import ToolFolders
    from tools.core.tool_settings import ToolSettings


class Surroundings(Protocol):
    """Files, sandbox and settings of one session, at the time of access.

    facts: values that tools computed once for the session, by name
    progress: called with a line of text during long operations
    seconds_left: returns the seconds until the turn is stopped; infinity where nothing limits it
    variables: of the environment of commands in the sandbox, as hooks set them at the start
    """

    @property
    def variables(self) -> Mapping[str, str]: ...

    @property
    def root(self) -> Path: ...

    @property
    def files(self) -> Tree: ...

    @property
    def sandbox(self) -> Sandbox: ...

    @property
    def artifacts(self) -> Artifacts: ...

    @property
    def settings(self) -> ToolSettings: ...

    @property
    def folders(self) -> ToolFolders: ...

    @property
    def trusts(self) -> Trusts: ...

    @property
    def mode(self) -> Mode: ...

    @property
    def facts(self) -> dict[str, Any]: ...

    @property
    def progress(self) -> Callable[[str], None]: ...

    @property
    def seconds_left(self) -> Callable[[], float]: ...
