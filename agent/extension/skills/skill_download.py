"""Skills of a git repository, in a folder of their own until they are copied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from agent.app_dirs import Home, make_private_folder
from agent.extension.extension_files import SKILL_FILE, SKILL_FOLDERS
from agent.extension.plugins.git_source import open_source
from sandbox.fs.private_files import create_private_folder, write_private_file

_PLACES = ("skills", *SKILL_FOLDERS)
"""Folders of a repository that may hold its skills, where it is none itself."""


@contextmanager
def download_skills(home: Home, address: str, reference: str, path: str) -> Iterator[tuple[Path, str]]:
    """Fetch one commit of a repository; yield a folder with its skills, and the commit. Raises UserError.

    reference: branch, tag or commit, "" for the repository's own; path: folder inside it, "" to look for the skills
    """
    folder = make_private_folder(home.cache / "fetched")
    with open_source(home, address, reference) as tree, TemporaryDirectory(dir=folder) as name:
        chosen = path or next((each for each in _PLACES if _has_skills(each, tree.entries)), "")
        found = tree if not path and SKILL_FILE in tree.entries else tree.narrow(chosen)
        place = Path(name, Path(chosen or address.rstrip("/")).name.removesuffix(".git"))
        for each, content in found.read_all().items():
            target = place / each
            create_private_folder(target.parent)
            write_private_file(target, content)
            if found.entries[each].is_program:
                target.chmod(0o700)
        yield place, tree.commit


def _has_skills(folder: str, names: Iterable[str]) -> bool:
    return any(each.startswith(f"{folder}/") and each.endswith(f"/{SKILL_FILE}") for each in names)
