"""The line recorder under every Python that is installed: 3.12 and later record in another way."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from packages.offline.repair.patchwright_worker.tracing import line_recorder

pytestmark = pytest.mark.slow


SCRIPT = """\
import json, sys
folder, root = sys.argv[1:]
sys.path[:0] = [folder, root]
from line_recorder import Recorder
import sample
recorder = Recorder(root)
recorder.start()
taken = []
for value in (0, 1):
    sample.choose(value)
    taken.append(recorder.take_lines())
print(json.dumps(taken))
"""


def find_interpreters() -> list[str]:
    others = [f"python3.{minor}" for minor in range(8, 16) if minor != sys.version_info.minor]
    return [sys.executable, *(each for each in others if shutil.which(each))]


@pytest.mark.parametrize("python", find_interpreters())
def test_each_call_has_the_lines_that_ran(tmp_path: Path, python: str) -> None:
    if subprocess.run([python, "-c", ""], capture_output=True).returncode != 0:
        pytest.skip("a shim without an interpreter")
    (tmp_path / "sample.py").write_text("def choose(x):\n    if x:\n        return 1\n    return 2\n")
    folder = str(Path(line_recorder.__file__).parent)
    done = subprocess.run([python, "-c", SCRIPT, folder, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [{"sample.py": [2, 4]}, {"sample.py": [2, 3]}]
