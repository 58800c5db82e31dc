"""Environment of child processes that tools start: no litter, no prompts, no pagers."""

from __future__ import annotations

from collections.abc import Mapping

_PYTHON = {
    # Not PYTHONPYCACHEPREFIX: byte code counts as fresh when its source has the same size and the same
    # modification time in whole seconds, and an agent edits and re-runs within one second. A stale `>` would
    # run in place of an edited `<`. A prefix also hides the byte code that installed packages already have.
    "PYTHONDONTWRITEBYTECODE": "1",
}

_QUIET = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",  # a command that opens an editor would wait for ever
    "EDITOR": "true",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_INPUT": "1",
    "DEBIAN_FRONTEND": "noninteractive",
    "npm_config_update_notifier": "false",
    "npm_config_fund": "false",
}


def python_environment() -> Mapping[str, str]:
    """Return variables for a Python that runs the project's code: no byte code is left in the workspace."""
    return _PYTHON


def shell_environment() -> Mapping[str, str]:
    """Return variables for any command: nothing waits for user input."""
    return _PYTHON | _QUIET
