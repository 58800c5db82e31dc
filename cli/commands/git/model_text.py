"""Texts about a change that a model writes, and the diffs that it is shown."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from agent.app_dirs import Home
from agent.model.routing.roles import Role
from agent.model_selection import ModelSelection
from cli.output.error_output import write_user_error
from cli.settings.layers import load_settings
from sandbox.errors import UserError
from sandbox.process.bounded_end import run_loop
from sandbox.secrets.child_environment import redact
from tools.git.git_process import Git

DIFF = 60_000
"""Characters of a diff sent to a model: about 15k tokens."""

PATIENCE, LONGEST = 180.0, 4_000
"""Limits on a model's answer, in seconds and tokens."""

_PLAIN = ("--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty")


def read_diff_excerpt(git: Git, *sides: str) -> str:
    """Return a diff for a model's eyes: without secrets, at most DIFF characters."""
    diff = git.run("diff", *_PLAIN, *sides).decode("utf-8", "replace")
    return redact(diff)[:DIFF]


def ask_model(git: Git, flags: Mapping[str, Any], prompt: str, purpose: str, role: Role) -> str:
    """Return a model's answer; "" if no model is set up or it fails (which is reported): the fallback is used then."""
    return run_loop(request_model_text(git, flags, prompt, purpose, role))


async def request_model_text(
    git: Git, flags: Mapping[str, Any], prompt: str, purpose: str, role: Role
) -> str:
    """Do the work of `ask_model` in the running loop: a caller that is cancelled asks no further."""
    home = Home.from_environment()
    settings = load_settings(home, git.root, flags).session
    models = ModelSelection(settings=settings, env=os.environ, cache=home.cache)
    try:
        side = models.create_side_calls()
        model = side.roles.get_writer(role)
        if model is None:
            return ""
        try:
            return await side.request_text(
                prompt, purpose=purpose, role=role, patience=PATIENCE, max_output=LONGEST
            )
        finally:
            await model.close()
            await side.roles.close()
    except UserError as error:
        write_user_error(error)
        return ""
