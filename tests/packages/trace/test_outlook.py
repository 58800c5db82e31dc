"""Signs that a session will fail, in its steps so far."""

from __future__ import annotations

from pathlib import Path

from packages.trace.outlook import SIGNS, measure_signs
from packages.trace.rows.traced_sessions import read_traces
from tests.packages.trace.written_logs import Log

DIFF = "--- a/cart.py\n+++ b/cart.py\n@@ -1 +1 @@\n-a\n+b\n"
CART = {"path": "cart.py"}


def measure(log: Log) -> dict[str, float]:
    return {name: value for name, value in measure_signs(read_traces(log.folder)[0].rows).items() if value}


def test_work_that_goes_on_shows_no_sign(tmp_path: Path) -> None:
    log = Log(tmp_path / "s1")
    log.prompt("Change the limit in cart.py to 5.")
    assert measure(log) == {}, "there is no step"
    log.step("read", {**CART, "start": 0}, "read: start must be 1 or more", failed=True)
    log.step("read", CART, "a = 1")
    log.step("edit", CART, "changed", diff=DIFF)
    assert measure(log) == {}


def test_faults_and_repeated_readings_count_by_their_share(tmp_path: Path) -> None:
    log = Log(tmp_path / "s1")
    log.prompt("How large is the limit?")
    log.step("read", {"path": "src/none.py"}, "no such file: src/none.py", failed=True)
    for _ in range(2):
        log.step("read", CART, "a = 1")
    log.say("I look further.")
    assert measure(log) == {"fault": 0.25, "stale": 0.25, "idle": 0.25}


def test_a_change_of_a_file_that_was_not_read_is_blind(tmp_path: Path) -> None:
    log = Log(tmp_path / "s1")
    log.prompt("Change the limit in cart.py to 5.")
    log.step("edit", CART, "changed", diff=DIFF)
    assert measure(log) == {"blind": 1.0}
    assert measure(log).keys() <= SIGNS.keys()


def test_steps_that_got_nothing_are_barren(tmp_path: Path) -> None:
    log = Log(tmp_path / "s1")
    log.prompt("Which file defines slug?")
    log.step("search", {"pattern": "def slugs"}, "no line in . matches 'def slugs'")
    assert measure(log) == {"barren": 1.0}
    log.step("search", {"pattern": "slug"}, "text.py\n  4: def slug(title):")
    assert measure(log) == {}


def test_a_new_file_needs_no_reading(tmp_path: Path) -> None:
    log = Log(tmp_path / "s1")
    log.prompt("Add a file cart.py.")
    log.step("write", CART, "created", diff="--- /dev/null\n+++ b/cart.py\n+a\n")
    assert measure(log) == {}
