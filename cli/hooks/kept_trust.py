"""Trust in a repository across a change of its hooks that Patchwright itself makes, on the user's command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def keep_trust(folder: Path) -> Iterator[None]:
    """Trust what a repository defines after the change, if the user trusted all that it defined before it.

    What is new then is what was installed, and files that hooks may read, of which the trusted ones read no more than
    before: each other hook that becomes active is another definition.
    """
    from agent.app_dirs import Home
    from sandbox.errors import UserError
    from sandbox.policy.trust import TrustStore
    from tools.core.action import ToolFailure
    from tools.git.broker import Broker
    from tools.git.git_process import Git

    root = Git.from_folder(folder).root
    store = TrustStore(Home.from_environment().config)
    try:
        before = Broker(root).program_definitions
        was_trusted = store.create_check(root)(before)
    except (UserError, ToolFailure):  # what cannot be read is not trusted
        before, was_trusted = (), False
    yield
    if not was_trusted:
        return
    after = Broker(root).program_definitions
    if after and after != before:
        store.grant(root, after)
