"""Trust in repository-defined programs that run outside the sandbox: definitions, and the user's decisions."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from sandbox.errors import Fault, UserError
from sandbox.fs.private_files import create_private_folder
from sandbox.lazy_dataclass import dataclass
from sandbox.parsed_data import parse_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A program defined by a repository that Patchwright would run outside the sandbox as the user, a git folder
    of another repository that it would use ("store"), or an agent, skill, command, hook or lesson of its sessions.

    name: its name in the repository ("pre-commit", "filter.lfs.clean")
    runs: description for the user: a command line, or the path of the program or folder
    digest: of the whole definition; any change makes it another definition
    """

    kind: Literal["hook", "setting", "store", "agent", "skill", "command", "agent hook", "lesson"]
    name: str
    runs: str
    digest: str


Trusts = Callable[[Sequence[Definition]], bool]
"""Whether the user trusts exactly these definitions of the present repository."""


UNTRUSTED_SIGNER = "untrusted_signer"
"""Fact of a workspace: the untrusted settings for which its last commit was refused, for the person to decide about."""


def trust_nothing(definitions: Sequence[Definition]) -> bool:
    """Trust only a repository without definitions: the default until the user decides."""
    return not definitions


class TrustCheck:
    """Check of one repository against the store, which is read at each call, since it may change meanwhile."""

    def __init__(self, store: TrustStore, root: Path) -> None:
        self._store = store
        self._root = root

    def __call__(self, definitions: Sequence[Definition]) -> bool:
        """Return whether the user trusts exactly these definitions."""
        return not definitions or self.read_digest() == compute_digest(definitions)

    def read_digest(self) -> str:
        """Return the digest of what the user trusts here, "" if that is nothing."""
        return self._store.read_trusted_digest(self._root)


class TrustStore:
    """The repositories that the user trusts, each with the digest of its definitions at that time.

    file: in Patchwright's own configuration folder, which no command can read or write
    """

    def __init__(self, config: Path) -> None:
        self.file = config / "trust.json"

    def create_check(self, root: Path) -> TrustCheck:
        """Return a check of one repository."""
        return TrustCheck(self, root)

    def read_trusted_digest(self, root: Path) -> str:
        """Return the trusted digest at `root`, "" if there is none."""
        return self._read().get(_build_key(root), "")

    def read_trusted_stores(self, root: Path) -> str:
        """Return the trusted digest of the git folders that are used at `root`, "" if there is none."""
        return self._read().get(_build_key(root) + _STORES, "")

    def list_roots(self) -> list[str]:
        """Return the paths of all trusted repositories, sorted."""
        return sorted(each for each in self._read() if not each.endswith(_STORES))

    def grant(self, root: Path, definitions: Sequence[Definition]) -> None:
        """Trust these definitions, and no others, at `root`."""
        granted = {_build_key(root): compute_digest(definitions)}
        if stores := [each for each in definitions if each.kind == "store"]:
            # Apart, since these are checked before git is started to list the others.
            granted[_build_key(root) + _STORES] = compute_digest(stores)
        before = {key: known for key, known in self._read().items() if key != _build_key(root) + _STORES}
        self._write(before | granted)

    def revoke(self, root: Path) -> bool:
        """Revoke trust in `root`; return whether it was trusted."""
        found = self._read()
        found.pop(_build_key(root) + _STORES, None)
        was = found.pop(_build_key(root), None) is not None
        if was:
            self._write(found)
        return was

    def _read(self) -> dict[str, str]:

        try:
            found = parse_json(self.file.read_bytes())
        except (FileNotFoundError, NotADirectoryError):  # no trust granted yet
            return {}
        except (OSError, ValueError) as error:
            raise UserError(
                Fault.CONFIGURATION,
                f"cannot read {str(self.file)!r}: {error}",
                "Remove it: all repositories have to be trusted anew then.",
            ) from None
        if not isinstance(found, dict):
            raise UserError(
                Fault.CONFIGURATION, f"{str(self.file)!r} holds no list of repositories", "Remove it."
            )
        return {str(root): str(known) for root, known in found.items()}

    def _write(self, found: dict[str, str]) -> None:
        import json
        import tempfile

        try:
            create_private_folder(self.file.parent)
            # mkstemp: mode 0600 from the start, and it never follows an existing link.
            handle, name = tempfile.mkstemp(prefix="trust-", dir=self.file.parent)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(found, file, indent=1, sort_keys=True)
            Path(name).replace(self.file)
        except OSError as error:
            raise UserError(
                Fault.READ_ONLY,
                f"cannot write {str(self.file)!r}: {error.strerror}",
                "Set PATCHWRIGHT_HOME to a folder that can be written.",
            ) from None


_STORES = "/.git"
"""Ending of the keys for git folders: no work tree has such a path."""


def use_trust_store(find_config: Callable[[], Path]) -> None:
    """Have this process check git folders against the user's store. find_config: finds the configuration folder"""
    _active[:] = [find_config]


def find_active_store() -> TrustStore | None:
    """Return the user's store, None in a process that has none: it trusts nothing."""
    return TrustStore(_active[0]()) if _active else None


_active: list[Callable[[], Path]] = []


def compute_digest(definitions: Sequence[Definition]) -> str:
    """Return one digest of several definitions, in any order."""
    import hashlib

    lines = sorted(repr((each.kind, each.name, each.digest)) for each in definitions)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _build_key(root: Path) -> str:
    return str(root.resolve()).encode("utf-8", "backslashreplace").decode()
