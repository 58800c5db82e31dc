"""One commit of a git repository, without a checkout: no hook, filter or submodule of it ever runs here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from agent.app_dirs import Home, make_private_folder
from agent.extension.plugins.source_tree import SourceEntry, SourceTree, open_folder
from sandbox.errors import Fault, UserError
from sandbox.helpers.git_runner import GitRunner, strip_git_variables
from sandbox.lazy_pattern import compile_lazily

TIMEOUT = 300.0
"""Seconds for the transfer of one commit."""

PROTOCOLS: Mapping[str, str] = {"https": "https", "ssh": "ssh", "git+ssh": "ssh", "file": "file"}
"""Schemes of addresses, and git's name of the protocol. Plain http and git can be changed on the way; others run
programs."""

_ADDRESS = compile_lazily(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://\S+|[\w.-]+@[\w.-]+:[^\s:]\S*|(?P<helper>[\w-]+)::\S*"
)
_REFERENCE = compile_lazily(r"(?!-)(?!.*\.\.)[\w./+@-]{1,200}")
_COMMIT = compile_lazily(r"[0-9a-f]{40}")


def is_address(source: str) -> bool:
    """Return whether a source is the address of a repository, and no folder."""
    return _ADDRESS.fullmatch(source) is not None


@contextmanager
def open_source(home: Home, source: str, reference: str = "") -> Iterator[SourceTree]:
    """Open a folder, or fetch one commit of a repository. Raises UserError.

    reference: branch, tag or full commit; "" for the repository's own
    """
    if not is_address(source):
        folder = Path(source).expanduser()
        if not folder.is_dir():
            raise UserError(
                Fault.USAGE, f"there is no folder {source!r}", "Name a folder, or a git address (https://…)."
            )
        if reference:
            raise UserError(
                Fault.USAGE, f"{source!r} is a folder: it has no {reference!r}", "Leave --ref out."
            )
        yield open_folder(folder.resolve())
        return
    place = make_private_folder(home.cache / "fetched")
    with TemporaryDirectory(dir=place, ignore_cleanup_errors=True) as name:
        yield _fetch(Path(name), source, reference)


def find_protocol(address: str) -> str:
    """Return git's name of an address's protocol. Raises UserError for one that is not used."""
    match = _ADDRESS.fullmatch(address)
    scheme = "" if match is None else match["helper"] or match["scheme"] or "ssh"
    if scheme not in PROTOCOLS or (match is not None and match["helper"]):
        raise UserError(
            Fault.USAGE,
            f"{address!r}: git's {scheme or 'protocol'!r} is not used here",
            f"Name an address that begins with {', '.join(f'{each}://' for each in PROTOCOLS)}.",
        )
    return PROTOCOLS[scheme]


def _fetch(folder: Path, address: str, reference: str) -> SourceTree:
    protocol, wanted = find_protocol(address), reference or "HEAD"
    if not _REFERENCE.fullmatch(wanted):
        raise UserError(Fault.USAGE, f"{reference!r} names no branch, tag or commit", "Write it as git does.")
    environment = {**strip_git_variables(), "GIT_LFS_SKIP_SMUDGE": "1"}
    git = GitRunner(folder, environment, workspace=None)
    made = git.run("init", "--quiet", "--bare", "--template=", ".")
    if made.returncode == 0:
        made = git.fetch(address, wanted, (protocol,), TIMEOUT)
    if made.returncode != 0:
        reason = next((each for each in reversed(made.stderr.splitlines()) if each.strip()), "git failed")
        raise UserError(
            Fault.USAGE, f"{address!r} could not be fetched: {reason}", "Check the address and --ref."
        )
    commit = git.run("rev-parse", "--verify", "refs/patchwright/fetched^{commit}").stdout.decode().strip()
    if not _COMMIT.fullmatch(commit):
        raise UserError(Fault.USAGE, f"{address!r}: {wanted!r} is no commit", "Name a branch, tag or commit.")
    return _list_tree(git, address, commit)


def _list_tree(git: GitRunner, address: str, commit: str) -> SourceTree:
    entries: dict[str, SourceEntry] = {}
    objects: dict[str, str] = {}
    left = []
    for field in git.run("ls-tree", "-r", "-z", "-l", "--full-tree", commit).split_fields():
        head, _, name = field.partition("\t")
        mode, kind, object_id, size = head.split()
        parts = name.split("/")
        if kind != "blob" or mode not in ("100644", "100755"):
            left.append(f"{name}: {'a submodule' if kind == 'commit' else 'a link'}")
        elif ".." in parts or "" in parts or not name.isprintable():
            left.append(f"{name!r}: a name that is not used")
        else:
            entries[name] = SourceEntry(int(size), mode == "100755")
            objects[name] = object_id

    def read(names: Sequence[str]) -> Mapping[str, bytes]:
        given = "".join(f"{objects[name]}\n" for name in names).encode()
        output = git.run("cat-file", "--batch", stdin=given).stdout
        return dict(zip(names, _split_batch(output), strict=True))

    return SourceTree(origin=address, commit=commit, entries=entries, left_out=tuple(left), read=read)


def _split_batch(output: bytes) -> Iterator[bytes]:
    """Yield the contents in the output of `git cat-file --batch`."""
    at = 0
    while at < len(output):
        end = output.index(b"\n", at)
        size = int(output[at:end].split()[2])
        yield output[end + 1 : end + 1 + size]
        at = end + 1 + size + 1
