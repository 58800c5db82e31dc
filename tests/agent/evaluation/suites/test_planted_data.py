"""Data sets with links and paths that lead out of their folders."""

from __future__ import annotations

from pathlib import Path

from tests.support.evaluation_tasks import build, write_tree


def make_harbor_task(folder: Path, dockerfile: str, about: str = "") -> Path:
    return write_tree(folder, {
        "task.toml": about,
        "instruction.md": "Do it.",
        "environment/Dockerfile": f"FROM x\nWORKDIR /app\n{dockerfile}\n",
        "environment/payload": "payload",
        "tests/test.sh": "true\n",
        "solution/solve.sh": "echo 1 > solved\n",
    })  # fmt: skip


def test_a_harbor_task_neither_writes_nor_reads_through_links(tmp_path: Path) -> None:
    victim = write_tree(tmp_path / "victim", {"rc": "mine"})
    source = tmp_path / "tasks"
    make_harbor_task(source / "write", f"RUN ln -s {victim}/rc rc\nCOPY payload rc")
    make_harbor_task(source / "below", f"RUN ln -s {victim} sub\nCOPY payload sub/rc")
    read = make_harbor_task(source / "read", "COPY conf conf")
    (read / "environment/conf").symlink_to(victim / "rc")
    prompt = make_harbor_task(source / "prompt", "COPY payload payload")
    (prompt / "instruction.md").unlink()
    (prompt / "instruction.md").symlink_to(victim / "rc")
    own = make_harbor_task(source / "own", f"RUN mkdir .harbor && ln -s {victim} .harbor/solution")
    (own / "solution/rc").write_text("planted")
    make_harbor_task(source / "broken-toml", "COPY payload payload", about="[agent]\ntimeout_sec = [1]\n")
    make_harbor_task(source / "broken-dockerfile", 'COPY "payload payload')
    summary, tasks = build("harbor", source, tmp_path / "suite")
    assert (victim / "rc").read_text() == "mine"
    assert [each.name for each in tasks] == ["own"]
    assert summary.missing == {
        "it copies through a link": 3,
        "its instruction.md is no plain file": 1,
        "its task.toml or task.yaml cannot be read": 1,
        "its Dockerfile cannot be read": 1,
    }
