"""Folders of Patchwright's own files: XDG base directories, or everything under `PATCHWRIGHT_HOME`."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from sandbox.errors import Fault, UserError
from sandbox.fs.private_files import close_to_others, create_private_folder
from sandbox.lazy_dataclass import dataclass

SETTINGS_FILE = "settings.toml"
"""Name of the user's settings file in the configuration folder."""


PLUGINS = "plugins"


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """Patchwright's folders; created with mode 0700 on the first write.

    data: session logs, artifacts, snapshots; config: settings; cache: files that can be rebuilt
    user_data, user_cache: those of the user, where data and cache are one session's own (`make_private`)
    """

    data: Path
    config: Path
    cache: Path
    user_data: Path | None = None
    user_cache: Path | None = None

    @classmethod
    def from_environment(cls, env: Mapping[str, str] = os.environ) -> Home:
        """Return `PATCHWRIGHT_HOME` if set, else the XDG base directories (freedesktop.org basedir spec 0.8).

        Data and caches that an older version left open to other users are closed.
        """
        home = cls._locate(env)
        for folder in (home.data, home.cache):
            close_to_others(folder)
        return home

    @classmethod
    def _locate(cls, env: Mapping[str, str]) -> Home:
        if own := env.get("PATCHWRIGHT_HOME"):
            try:
                base = Path(own).expanduser().absolute()
            except (RuntimeError, FileNotFoundError):  # `~nobody`, or relative to a removed folder
                raise UserError(
                    Fault.CONFIGURATION,
                    f"PATCHWRIGHT_HOME names no folder: {own!r}",
                    "Set it to a full path.",
                ) from None
            return cls(data=base / "data", config=base / "config", cache=base / "cache")
        home = Path(env.get("HOME") or Path.home())

        def resolve_xdg_folder(variable: str, default: str) -> Path:
            value = env.get(variable, "")
            base = Path(value) if value.startswith("/") else home / default
            return base / "patchwright"

        return cls(
            data=resolve_xdg_folder("XDG_DATA_HOME", ".local/share"),
            config=resolve_xdg_folder("XDG_CONFIG_HOME", ".config"),
            cache=resolve_xdg_folder("XDG_CACHE_HOME", ".cache"),
        )

    def make_private(self, folder: Path) -> Home:
        """Return the home of one session that leaves nothing behind once `folder` is removed, its log apart.

        Settings, plugins and sign-ins are the user's; memory and saved functions of earlier sessions are not there.
        """
        return Home(
            data=folder / "data",
            config=self.config,
            cache=folder / "cache",
            user_data=self.lasting_data,
            user_cache=self.lasting_cache,
        )

    def encode(self) -> dict[str, str]:
        """Return the folders as JSON."""
        return {name: str(path) for name, path in asdict(self).items() if path is not None}

    @classmethod
    def decode(cls, values: Mapping[str, str]) -> Home:
        """Return the folders from JSON."""
        return cls(**{name: Path(path) for name, path in values.items()})

    @property
    def lasting_data(self) -> Path:
        """Folder of what the user installed and signed in to."""
        return self.user_data or self.data

    @property
    def plugins(self) -> Path:
        """Folder of the plugins that the user added, which commands cannot see."""
        return self.lasting_data / PLUGINS

    @property
    def lasting_cache(self) -> Path:
        """Folder of what is known of this machine and of models, whatever the session."""
        return self.user_cache or self.cache

    @property
    def hidden(self) -> tuple[Path, ...]:
        """Folders that commands in the sandbox cannot see."""
        return tuple(dict.fromkeys((self.data, self.lasting_data, self.config)))

    @property
    def memory(self) -> Path:
        """Folder of what sessions remember of repositories; there is none before the first has."""
        return self.data / "memory"

    @property
    def sign_ins(self) -> Path:
        """Return the folder of tokens for MCP servers, which commands in the sandbox cannot see."""
        return self.lasting_data / "mcp"

    def get_project_folder(self, root: Path) -> Path:
        """Return the data folder of one project: a readable name and a hash of its path."""
        import hashlib

        digest = hashlib.sha256(os.fsencode(root)).hexdigest()[:10]
        return self.data / "projects" / f"{root.name or 'root'}-{digest}"


def make_private_folder(path: Path) -> Path:
    """Create a folder (and its parents) that only the user can enter. Raises UserError if that is not possible."""
    try:
        create_private_folder(path)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise UserError(Fault.STORAGE_FULL, f"no space left to make {str(path)!r}") from error
        raise UserError(
            Fault.READ_ONLY,
            f"cannot make {str(path)!r}: {error.strerror}",
            "Set PATCHWRIGHT_HOME to a folder that can be written.",
        ) from error
    return path
