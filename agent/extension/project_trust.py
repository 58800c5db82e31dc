"""Whether the user trusts the skills, commands, hooks or agents of a project as they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agent.app_dirs import Home
from sandbox.policy.trust import Definition, TrustStore, compute_digest


def is_trusted(home: Home, root: Path, place: str, found: Sequence[Definition]) -> bool:
    """Return whether the user trusts exactly these definitions, here or in the main work tree.

    place: path below the root under which the trust is stored
    """
    from sandbox.fs.repository import find_main_work_tree

    store, digest = TrustStore(home.config), compute_digest(found)
    roots = [root, find_main_work_tree(root)]
    return any(each is not None and store.read_trusted_digest(each / place) == digest for each in roots)


def has_trust(home: Home, root: Path, place: str) -> bool:
    """Return whether the user trusts any such definitions: where not, what is there need not be read."""
    from sandbox.fs.repository import find_main_work_tree

    store, roots = TrustStore(home.config), [root, find_main_work_tree(root)]
    return any(each is not None and store.read_trusted_digest(each / place) for each in roots)


def describe_untrusted(number: int, what: str, root: Path) -> str:
    """Return the notice for files of a project that are not used. what: one of them, such as "skill"."""
    counted = f"1 {what}" if number == 1 else f"{number} {what}s"
    return (
        f"{counted} of this project not used, since you have not trusted them as they are: patchwright trust -C "
        f"{str(root)!r}"
    )
