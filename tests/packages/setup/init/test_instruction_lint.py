"""The check of an AGENTS.md names what is wrong with its line, and nothing that is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.repository_files import list_files
from packages.setup.commands.init import add_rule, check_project
from packages.setup.init.agents_file import MOST_LINES, build_draft
from packages.setup.init.instruction_lint import check_instructions, list_commands
from sandbox.errors import UserError
from tests.support.cli import run
from tests.support.confined import needs_confinement
from tests.support.repo import Repo

GOOD = """\
# Shop

Never print a secret token. The index has to stay fast.

- Test: `make test`, one file: `python tools/one.py tests/<name>.py`
- `npm run build` in `web/`; see [the map](docs/map.md) and `src/shop/cart.py`
- branches are called `feat/what`, types `application/json`, hosts `example.org/x`
- Always run `make test` before a commit
- Use pnpm, not npm; a new module is named like `src/shop/example.py`

```sh
$ make lint   # quick
python -m shop --help
./tools/all.sh
```
"""


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    found = Repo(tmp_path / "shop")
    found.write("Makefile", "test:\n\t@echo passed\nlint:\n\t@false\n")
    found.write("package.json", '{"scripts": {"build": "tsc"}}')
    for each in ("tools/one.py", "tools/all.sh", "docs/map.md", "src/shop/cart.py", "web/x.ts"):
        found.write(each, "x\n")
    for each in ("src/shop/basket.py", "tools/old/a.py"):
        found.write(each, "x\n")
    found.commit_all()
    found.git("rm", "-qr", "src/shop/basket.py", "tools/old")
    found.commit_all()
    return found


def check(repo: Repo, text: str) -> list[tuple[int, str]]:
    repo.write("AGENTS.md", text)
    found = check_instructions(repo.root, "AGENTS.md", list_files(repo.root))
    return [(each.line, each.text) for each in found if not each.is_advice]


def test_nothing_is_said_of_what_is_right(repo: Repo) -> None:
    assert check(repo, GOOD) == []
    assert [each for _, each in list_commands(GOOD)] == [
        "make test",
        "python tools/one.py tests/<name>.py",
        "npm run build",
        "make test",
        "make lint",
        "python -m shop --help",
        "./tools/all.sh",
    ]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("- run `make chekc` first", "Makefile has no chekc"),
        ("- `npm run bundle`", "package.json has no bundle"),
        ("- `cargo test`", "there is no Cargo.toml"),
        ("- `python tools/gone.py`", "there is no tools/gone.py"),
        ("- `./tools/gone.sh --all`", "there is no tools/gone.sh"),
        ("- `make 'test`", "a quote is open"),
        ("- the cart is in `src/shop/basket.py`", "src/shop/basket.py is not there, since "),
        ("- see [the map](docs/maps.md#top)", "docs/maps.md is not there"),
        ("- all of `tools/old/`", "tools/old/ is not there"),
        ("- Never run `make test` before a commit", "line 8 says the reverse"),
        ("- Use npm instead of pnpm", "line 9 says the reverse"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(line: str, told: str, repo: Repo) -> None:
    text = f"{GOOD}\n{line}\n"
    [(number, found)] = check(repo, text)
    assert told in found
    assert text.split("\n")[number - 1] == line


def test_length_and_gaps(repo: Repo) -> None:
    long = "# Shop\n" + "- one more rule\n" * 160
    assert any("keep what no file tells" in each for _, each in check(repo, long))
    found = check_instructions(repo.root, "AGENTS.md", list_files(repo.root))
    assert {each.text.split(":")[0] for each in found if each.is_advice} == {
        "no rule about security",
        "no rule about performance",
    }


def test_the_check_is_a_command_with_an_end(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UserError, match="to check"):
        check_project(repo.root, tries=False)
    repo.write("AGENTS.md", GOOD)
    assert check_project(repo.root, tries=False) == 0
    assert "nothing is wrong in AGENTS.md" in capsys.readouterr().out
    repo.write("CLAUDE.md", "- `make chekc`\n")
    assert check_project(repo.root, tries=False) == 13
    assert "CLAUDE.md:1: `make chekc`: Makefile has no chekc" in capsys.readouterr().out


def test_one_rule_is_added_and_nothing_else(repo: Repo, tmp_path: Path) -> None:
    repo.write("AGENTS.md", "# Shop\n\n- a rule")
    add_rule(repo.root, "amounts are\nintegers, in cents")
    assert repo.read("AGENTS.md") == "# Shop\n\n- a rule\n- amounts are integers, in cents\n"
    with pytest.raises(UserError, match="that rule already"):
        add_rule(repo.root, "amounts are integers, in cents")
    (repo.root / "AGENTS.md").unlink()
    (tmp_path / "outside.md").write_text("theirs\n")
    (repo.root / "AGENTS.md").symlink_to(tmp_path / "outside.md")
    with pytest.raises(UserError):
        add_rule(repo.root, "a rule")
    assert (tmp_path / "outside.md").read_text() == "theirs\n"


def test_a_draft_is_short(repo: Repo) -> None:
    repo.write("Makefile", "".join(f"test-{n}:\n\ttrue\n" for n in range(40)))
    for number in range(30):
        repo.write(f"part{number}/README.md", f"# Part {number}\n\nDoes the work of part {number}.\n")
    text = build_draft(repo.root)
    assert len(text.splitlines()) <= MOST_LINES
    assert "## Commands" in text


@pytest.mark.slow
def test_commands_are_run_on_request_and_confined(repo: Repo) -> None:
    needs_confinement(repo.root)
    repo.write("Makefile", "test:\n\t@echo passed\ncheck:\n\t@nothing-of-that-name\nbuild:\n\t@touch built\n")
    repo.write("AGENTS.md", '`make test` `make check` `make build` `python3 -c \'open("x", "w")\'`\n')
    found = run("init", "--check", "--run", cwd=repo.root)
    assert found.code == 13
    assert "`make test`: works" in found.out
    assert "`make check`: " in found.out
    assert "nothing-of-that-name: No such file" in found.out
    assert "`make build`: not run: it writes into the project" in found.out
    assert not (repo.root / "x").exists()
    assert not (repo.root / "built").exists()
    (repo.root / "AGENTS.md").unlink()
    draft = run("init", "--print", "--run", cwd=repo.root).out
    assert "`make test`" in draft
    assert "make check" not in draft
