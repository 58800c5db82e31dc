"""An object that stands for another one until that is used."""

from __future__ import annotations

import threading
import time

import pytest

from sandbox.deferred import build_now, defer, find_built


class Engine:
    """What is expensive to build."""

    def __init__(self) -> None:
        self.name = "engine"
        self.speed = 0

    def run(self) -> str:
        return f"{self.name} at {self.speed}"


def count_builds(builds: list[Engine]) -> Engine:
    builds.append(Engine())
    return builds[-1]


def test_it_is_built_once_when_it_is_first_used() -> None:
    builds: list[Engine] = []
    engine = defer(lambda: count_builds(builds))
    assert not builds
    assert find_built(engine) is None
    assert [engine.run(), engine.run()] == ["engine at 0"] * 2
    assert find_built(engine) is build_now(engine) is builds[0]
    assert len(builds) == 1


def test_what_is_known_needs_no_object_and_what_was_set_is_set_on_it() -> None:
    builds: list[Engine] = []
    engine = defer(lambda: count_builds(builds), name="known", speed=1)
    engine.speed = 7
    assert (engine.name, engine.speed, builds) == ("known", 7, [])
    assert engine.run() == "engine at 7", "a name that was only known does not replace the object's own"
    engine.speed = 8
    assert builds[0].speed == 8


def test_an_attribute_that_is_not_known_is_set_on_the_object() -> None:
    engine = defer(Engine)
    engine.speed = 3
    assert engine.run() == "engine at 3"


def test_it_is_an_instance_of_the_object_s_class() -> None:
    engine = defer(Engine)
    assert isinstance(engine, Engine)
    assert find_built(engine) is not None


def test_an_error_of_the_builder_comes_with_each_use_until_it_succeeds() -> None:
    outcomes = iter([ValueError("not yet"), None])

    def build() -> Engine:
        if (error := next(outcomes)) is not None:
            raise error
        return Engine()

    engine = defer(build)
    with pytest.raises(ValueError, match="not yet"):
        engine.run()
    assert find_built(engine) is None
    assert engine.run() == "engine at 0"


def test_threads_that_use_it_at_the_same_time_build_it_once() -> None:
    builds: list[Engine] = []

    def build_slowly() -> Engine:
        time.sleep(0.01)
        return count_builds(builds)

    engine = defer(build_slowly)
    threads = [threading.Thread(target=engine.run) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(builds) == 1


def test_an_ordinary_object_is_built() -> None:
    engine = Engine()
    assert find_built(engine) is build_now(engine) is engine
    assert find_built(None) is None


def test_it_is_iterated_over_like_the_object() -> None:
    assert list(defer(lambda: ["a", "b"])) == ["a", "b"]
