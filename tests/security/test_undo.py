"""Commands that put their changes out of undo's reach: each is undone, and nobody is said to have changed anything."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.security.conftest import Scene

UNDO = """
import json, sys
from pathlib import Path
from attempt import attempt
from sandbox.snapshots.workspace_snapshots import Snapshots

request = json.load(sys.stdin)
root = Path(request["root"])
store = root.parent / "store"
snapshots, spans = Snapshots(root, store), []
for attack in request["attacks"]:
    before = snapshots.take()
    attempt(request["box"], root, [["/bin/sh", "-c", attack]], {})
    spans.append((before, snapshots.take()))
if request["fresh"]:  # `patchwright undo`, when the session has ended
    snapshots.close()
    snapshots = Snapshots(root, store)
if request["person"]:
    (root / "src/cart.py").write_text("person")
snapshots.cover(spans)
undone = snapshots.revert(spans)
json.dump({"clashes": undone.clashes, "changed": [each.path for each in undone.changes]}, sys.stdout)
"""


def undo(scene: Scene, *attacks: str, fresh: bool, person: bool = False) -> dict[str, Any]:
    """Run the attacks, each in a step of its own, then undo all of them, as the scene's user.

    person: writes a file in between
    """
    command = [scene.python, "-c", UNDO]
    if scene.user != os.geteuid():
        command = ["setpriv", f"--reuid={scene.user}", f"--regid={scene.user}", "--clear-groups", *command]
    request = {
        "box": scene.box,
        "root": str(scene.root),
        "attacks": attacks,
        "fresh": fresh,
        "person": person,
    }
    done = subprocess.run(
        command,
        input=json.dumps(request),
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
        env=os.environ | {"PYTHONPATH": str(scene.code), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def files(scene: Scene) -> dict[str, bytes]:
    """Files of the person's that were never committed."""
    found = {"src/cart.py": b"total = 0\n", "src/deep/order.py": b"order = 1\n", "notes.txt": b"mine\n"}
    for path, content in found.items():
        (scene.root / path).parent.mkdir(exist_ok=True)
        (scene.root / path).write_bytes(content)
    (scene.root / ".gitignore").write_text("*.log\n")
    scene.own()
    return found


OVERWRITE = (
    "echo owned > src/cart.py; rm src/deep/order.py; echo owned > src/deep/order.py; echo owned > src/new.py"
)

ATTACKS = {
    "ignored": (f"echo 'src/' >> .gitignore; {OVERWRITE}",),
    "ignored by an earlier command": ("echo 'src/' >> .gitignore", OVERWRITE.rpartition(";")[0]),
    "ignored by a rule beside it": (f"printf '*\\n' > src/.gitignore; {OVERWRITE}",),
    "closed folder": (f"{OVERWRITE}; chmod 000 src",),
    "closed folder that is listed": (f"{OVERWRITE}; chmod 400 src",),
    "closed files": (f"{OVERWRITE}; chmod 000 src/cart.py src/deep/order.py src/new.py",),
    "pipes": (
        "rm src/cart.py src/deep/order.py notes.txt; mkfifo src/cart.py src/deep/order.py notes.txt src/new",
    ),
    "git folder": (f"mkdir src/.git; echo 'ref: refs/heads/x' > src/.git/HEAD; {OVERWRITE}",),
    "git folder by an earlier command": (
        "mkdir src/.git; echo 'ref: refs/heads/x' > src/.git/HEAD; echo x > notes.txt",
        OVERWRITE,
    ),
    "git file": (f"echo 'gitdir: ../.git' > src/.git; {OVERWRITE}",),
}


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("attack", ATTACKS)
def test_what_a_command_hid_is_undone(
    scene: Scene, files: dict[str, bytes], attack: str, fresh: bool
) -> None:
    outcome = undo(scene, *ATTACKS[attack], fresh=fresh)
    assert outcome["clashes"] == {}
    assert {path: (scene.root / path).read_bytes() for path in files} == files
    assert outcome["changed"], "the attack did nothing"
    assert (scene.root / ".gitignore").read_text() == "*.log\n"
    assert sorted(each.name for each in (scene.root / "src").iterdir()) == ["cart.py", "deep"]
    assert (scene.root / "src").stat().st_mode & 0o777 == 0o755
    for path in files:
        assert (scene.root / path).is_file()
        assert (scene.root / path).stat().st_mode & 0o777 == 0o644


@pytest.mark.slow
def test_a_persons_own_change_after_such_a_command_is_named_and_the_rest_undone(
    scene: Scene, files: dict[str, bytes]
) -> None:
    outcome = undo(scene, *ATTACKS["ignored"], fresh=False, person=True)
    assert outcome["clashes"].keys() == {"src/cart.py"}
    assert (scene.root / "src/cart.py").read_text() == "person"
    assert (scene.root / "src/deep/order.py").read_bytes() == files["src/deep/order.py"]
    assert not (scene.root / "src/new.py").exists()
