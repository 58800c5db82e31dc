"""Language servers that are common, and those of them that this machine has.

A program is looked for on the PATH and never in a workspace: nothing of a repository chooses what runs.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Iterable
from pathlib import Path

from sandbox.helpers.own_programs import find_own_program
from sandbox.lazy_dataclass import dataclass
from tools.code.languages import match_languages


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownServer:
    """A server. languages: names of `tools.code.languages`; line: its program and arguments"""

    languages: tuple[str, ...]
    line: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundServer:
    """A server of this machine. command: command line with the absolute path of the program, quoted for a shell"""

    name: str
    languages: tuple[str, ...]
    command: str


_WEB = ("typescript", "tsx", "javascript")

KNOWN_SERVERS: tuple[KnownServer, ...] = (
    KnownServer(languages=("python",), line=("basedpyright-langserver", "--stdio")),
    KnownServer(languages=("python",), line=("pyright-langserver", "--stdio")),
    KnownServer(languages=("python",), line=("ty", "server")),
    KnownServer(languages=("python",), line=("zuban", "server")),
    KnownServer(languages=("python",), line=("pylsp",)),
    KnownServer(languages=("python",), line=("jedi-language-server",)),
    KnownServer(languages=("go",), line=("gopls",)),
    KnownServer(languages=("rust",), line=("rust-analyzer",)),
    KnownServer(languages=("c", "cpp"), line=("clangd",)),
    KnownServer(languages=_WEB, line=("typescript-language-server", "--stdio")),
    KnownServer(languages=_WEB, line=("vtsls", "--stdio")),
    KnownServer(languages=("ruby",), line=("ruby-lsp",)),
    KnownServer(languages=("ruby",), line=("solargraph", "stdio")),
    KnownServer(languages=("java",), line=("jdtls",)),
    KnownServer(languages=("php",), line=("intelephense", "--stdio")),
    KnownServer(languages=("kotlin",), line=("kotlin-language-server",)),
    KnownServer(languages=("swift",), line=("sourcekit-lsp",)),
    KnownServer(languages=("lua",), line=("lua-language-server",)),
    KnownServer(languages=("bash",), line=("bash-language-server", "start")),
)
"""Of each language the more precise first."""


def list_languages(paths: Iterable[str]) -> list[str]:
    """Return the languages of some files that have a known server, each once, in the order of the files."""
    served = {language for each in KNOWN_SERVERS for language in each.languages}
    names = dict.fromkeys(language.name for path in paths for language in match_languages(path))
    return [name for name in names if name in served]


def find_server(language: str, taken: Collection[str], root: Path) -> FoundServer | None:
    """Return the first server of a language that is installed outside of the workspace.

    taken: languages that it is not for, because they have another one
    """
    for each in KNOWN_SERVERS:
        if language not in each.languages or (program := find_own_program(each.line[0], root)) is None:
            continue
        if _is_missing_component(Path(program)):
            continue
        return FoundServer(
            name=each.line[0],
            languages=tuple(name for name in each.languages if name not in taken),
            command=shlex.join([program, *each.line[1:]]),
        )
    return None


def _is_missing_component(program: Path) -> bool:
    """Return whether a program is only rustup's stand-in for one that no toolchain has."""
    beside = program.with_name("rustup")
    try:
        is_stand_in = program.resolve().name == "rustup" or (beside.exists() and program.samefile(beside))
    except OSError:
        return False
    if not is_stand_in or program.name == "rustup":
        return False
    home = Path(os.environ.get("RUSTUP_HOME") or Path.home() / ".rustup")
    return not any((home / "toolchains").glob(f"*/bin/{program.name}"))
