"""Content stores of other tools, to which links of a work tree lead: their files are shared, and never written."""

from __future__ import annotations

import re
from typing import NamedTuple

from sandbox.lazy_pattern import compile_lazily


class ContentStore(NamedTuple):
    """One tool's store. place: matches the path of an entry of it; way: how the tool lets a file be changed"""

    tool: str
    place: re.Pattern[str]
    way: str


STORES = (
    ContentStore("git-annex", compile_lazily(r"(^|/)\.git/annex/"), "git annex unlock FILE"),
    ContentStore(
        "DVC",
        # By name; a shared cache elsewhere by its layout: the first two of 32 hexadecimal digits are a folder.
        compile_lazily(r"(^|/)\.dvc/cache/|/files/md5/[0-9a-f]{2}/[0-9a-f]{30}(\.dir)?$"),
        "dvc unprotect FILE",
    ),
    ContentStore("Nix", compile_lazily(r"^/nix/store/"), "edit the source or expression, then nix build"),
    ContentStore("Guix", compile_lazily(r"^/gnu/store/"), "edit the source or package, then guix build"),
    ContentStore(
        "Bazel",
        compile_lazily(r"/_bazel_[^/]*/|(^|/)bazel-out/"),
        "edit the source or rule, then bazel build",
    ),
    ContentStore("pnpm", compile_lazily(r"(^|/)node_modules/\.pnpm/|/pnpm/store/"), "pnpm patch PACKAGE"),
    ContentStore(
        "conda",
        compile_lazily(r"(conda|mamba|miniforge)[^/]*/pkgs/", re.IGNORECASE),
        "conda install --copy PACKAGE",
    ),
    ContentStore("ccache", compile_lazily(r"/\.?ccache/"), "edit the source and build again"),
    ContentStore("uv", compile_lazily(r"/(\.cache|Caches)/uv/"), "uv pip install --link-mode=copy PACKAGE"),
    ContentStore(
        "Go",
        compile_lazily(r"/pkg/mod/[^/]+"),
        "go work use or a replace directive, with a copy of the module",
    ),
)


def find_store(path: str) -> ContentStore | None:
    """Return the store that an entry belongs to, by its path or the text of a link; None if it is of none."""
    return next((each for each in STORES if each.place.search(path)), None)


def describe_way(path: str, target: str) -> str:
    """Return how to change a file behind a link into a store, as a sentence; "" if the target is in none."""
    store = find_store(target)
    return "" if store is None else f"it is {store.tool}'s: {store.way.replace('FILE', path)}"
