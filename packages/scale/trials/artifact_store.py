"""Files that travel between the driver of a run and its nodes: in a shared folder, or an object store by fsspec."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

from packages.scale.cluster.node import EXTRA
from sandbox.errors import Fault, UserError


class ArtifactStore:
    """Artifacts below one address. Raises UserError where the address cannot be used.

    url: a folder's path, or an address of fsspec, like s3://bucket/path
    """

    def __init__(self, url: str) -> None:
        try:
            import fsspec
        except ImportError:
            raise UserError(
                Fault.CONFIGURATION, "artifacts need fsspec, which is not installed", EXTRA
            ) from None
        self.url = url
        try:
            found: tuple[Any, str] = fsspec.core.url_to_fs(url)
        except (ImportError, ValueError, OSError) as error:
            raise UserError(
                Fault.CONFIGURATION,
                f"--artifacts {url!r}: {_one_line(error)}",
                "Name a folder or an address.",
            ) from None
        self._files, self._root = found

    def has(self, name: str) -> bool:
        """Whether there is an artifact of this name. Blocking."""
        try:
            return bool(self._files.exists(self._locate(name)))
        except Exception as error:  # each store has exceptions of its own
            raise self._describe(name, error) from None

    def put(self, name: str, file: Path) -> None:
        """Store a file, completely or not at all. Blocking."""
        place = self._locate(name)
        coming = f"{place}.{uuid.uuid4().hex[:12]}"
        try:
            self._files.makedirs(place.rpartition("/")[0], exist_ok=True)
            self._files.put_file(str(file), coming)
            self._files.mv(coming, place)
        except Exception as error:  # each store has exceptions of its own
            raise self._describe(name, error) from None

    def get(self, name: str, file: Path) -> None:
        """Fetch an artifact into a file. Blocking."""
        try:
            self._files.get_file(self._locate(name), str(file))
        except Exception as error:  # each store has exceptions of its own
            raise self._describe(name, error) from None

    def remove(self, name: str) -> None:
        """Remove an artifact; one that is gone is no error. Blocking."""
        try:
            self._files.rm_file(self._locate(name))
        except FileNotFoundError:
            return
        except Exception as error:  # each store has exceptions of its own
            raise self._describe(name, error) from None

    def _locate(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    def _describe(self, name: str, error: Exception) -> UserError:
        return UserError(
            Fault.CONFIGURATION,
            f"artifact {name!r} below {self.url!r}: {_one_line(error)}",
            "Name a folder or an object store that every node reaches: --artifacts URL",
        )


def _one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]
