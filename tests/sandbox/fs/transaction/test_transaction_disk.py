"""A disk that fills up at any point of an edit: all of it is written or none, and nothing is left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sandbox.boxes import bwrap

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ON_A_SMALL_DISK = """
import os, shutil, sys
from pathlib import Path
from sandbox.errors import UserError
from sandbox.fs.transaction.transactions import Write
from tests.sandbox.trees import Place

disk, page = Path(sys.argv[1]), os.sysconf("SC_PAGE_SIZE")
old = {f"old/{n}.py": b"%d\\n" % n * 2000 for n in range(6)}
ends = []
while "new" not in ends[-2:-1]:
    place = Place.make(disk / "edit", old)
    changes = [place.write(name, content * 2) for name, content in old.items() if "5" not in name]
    changes += [place.write(f"new/{n}/x.py", b"x" * 5000) for n in range(4)] + [place.remove("old/5.py")]
    if sys.argv[2] == "alone":
        changes = changes[5:6]
    place.transactions().recover()
    before = place.image()
    with (disk / "ballast").open("wb", buffering=0) as ballast:
        room = os.statvfs(disk).f_bavail - len(ends)
        assert room >= 0, "the edit never fits"
        ballast.write(bytes(room * page))
        try:
            place.commit(*changes)
            end = "new"
        except UserError as error:
            assert error.fault == "storage-full", error
            end = "old"
    found = place.image()
    for change in changes if end == "new" else ():
        target = place.root / change.path
        assert target.read_bytes() == change.content if isinstance(change, Write) else not target.exists()
    assert end == "new" or found == before, len(ends)
    assert place.records() == []
    assert not [name for name in found if name.endswith(".tmp")]
    assert place.transactions().recover() is None
    ends.append(end)
    shutil.rmtree(disk / "edit")
    (disk / "ballast").unlink()
print(ends.count("old"), ends[ends.index("new"):])
"""


@pytest.mark.parametrize("company", ["alone", "with others"])
def test_with_any_number_of_free_pages_an_edit_is_whole_or_was_not(tmp_path: Path, company: str) -> None:
    """From no free page up to where the edit fits, on a file system of its own."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["--size", str(1 << 20), "--tmpfs", str(disk)]
    done = subprocess.run(
        [bwrap(), "--dev-bind", "/", "/", *mount, "--", sys.executable, "-c", ON_A_SMALL_DISK, disk, company],
        cwd=Path(__file__).parents[4],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    failed, rest = done.stdout.split(" ", 1)
    assert int(failed) > (2 if company == "alone" else 10), "some have to fail to prove anything"
    assert rest.strip() == "['new', 'new']"
