"""Bound sockets are found by their inode, whatever their name says."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from sandbox.view import served_sockets
from sandbox.view.served_sockets import SocketFinder, list_bound_sockets

Bind = Callable[..., None]


@pytest.fixture
def bind(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bind]:
    with ExitStack() as stack:

        def make(folder: Path, name: str) -> None:
            server = stack.enter_context(socket.socket(socket.AF_UNIX))
            monkeypatch.chdir(folder)
            server.bind(name)
            server.listen()

        yield make


def found_in(folder: Path) -> set[str]:
    return {
        each for each in SocketFinder(folder).find_paths(list_bound_sockets()) if each.startswith(str(folder))
    }


def test_sockets_are_found_by_relative_names_and_after_renaming(tmp_path: Path, bind: Bind) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    bind(tmp_path, str(tmp_path / "plain"))
    bind(tmp_path / "a", "relative")
    bind(tmp_path / "a/b", "old")
    (tmp_path / "a/b/old").rename(tmp_path / "a/new")
    assert found_in(tmp_path) == {f"{tmp_path}/{each}" for each in ("plain", "a/relative", "a/new")}


def test_a_search_is_not_repeated_for_what_it_did_not_find(tmp_path: Path, bind: Bind) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    bind(outside, "relative")
    finder = SocketFinder(inside)
    assert not [each for each in finder.find_paths(list_bound_sockets()) if each.startswith(str(inside))]
    bind(inside, "later")
    paths = [each for each in finder.find_paths(list_bound_sockets()) if each.startswith(str(inside))]
    assert paths == [f"{inside}/later"], "a new one is searched for at once"
    assert len(finder._missed) >= 1


def test_a_file_in_place_of_a_socket_is_none(tmp_path: Path, bind: Bind) -> None:
    bind(tmp_path, str(tmp_path / "gone"))
    (tmp_path / "gone").unlink()
    (tmp_path / "gone").write_text("mine")
    assert found_in(tmp_path) == set()


def test_without_the_kernels_query_the_table_of_names_is_read(
    tmp_path: Path, bind: Bind, monkeypatch: pytest.MonkeyPatch
) -> None:
    bind(tmp_path, str(tmp_path / "plain"))
    monkeypatch.setattr(served_sockets, "_SOCK_DIAG", 31)  # a family that no kernel has
    assert found_in(tmp_path) == {f"{tmp_path}/plain"}


def test_abstract_names_are_no_files(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        name = f"patchwright-test-{os.getpid()}"
        server.bind(f"\0{name}")
        assert not [each for each in list_bound_sockets() if name in each.name]
