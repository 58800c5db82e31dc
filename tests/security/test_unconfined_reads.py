"""Where nothing confines commands, a read of a place that is not certain asks; so does one of a folder with keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.policy.decision import Approval, Mode, Policy
from sandbox.policy.rules import Rules, parse_rule
from sandbox.policy.shell import judge_command_line


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    home, work = tmp_path / "home", tmp_path / "home" / "shop"
    for place in (
        home / ".ssh" / "id_rsa",
        work / "conf" / "db.env",
        work / "src" / "a.py",
        work / "notes.txt",
    ):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("x\n")
    (work / "links").mkdir()
    (work / "links" / "key").symlink_to(home / ".ssh" / "id_rsa")
    monkeypatch.setenv("HOME", str(home))
    return work


VAGUE = r"""
cat $X | cat "$X" | cat $PWD/../.ssh/id_rsa | cat "${PWD}"/notes.txt | cat $(echo notes.txt) | cat `ls` | head -n1 $1
cat ~/.ss?/id_rsa | cat ~/.ssh/* | cat ../.s*/id_rsa | cat */* | cat links/* | cat conf/* | cat con?/db.env
for f in *; do cat "$f"; done | ls \| xargs cat | find . -name x -exec cat {} + | while read -r f; do cat "$f"; done
grep -r x ~ | grep -rn x . | grep -r x | rg x | rg x . | rg x .. | rg -uu x ~ | ag x | grep -R key ../.ssh
tar c ~ | tar -cf x.tar ../.ssh | cp -r ~/.ssh x | cp -r .. x | diff -r conf x | zip -r x.zip ~ | base64 ~/.ssh/*
cat < $X | dd if=$X | wc -l --files0-from=names | sort --files0-from=names | file -f names | cd $X && cat notes.txt
grep x conf/* | sed -n 1p "$X" | awk 1 $X | jq . $X | xxd $X | less "$X" | cat {$X,notes.txt} | tac ~/.ssh/id_r*
git diff --no-index /dev/null ~/.ssh/id_rsa | git diff --no-index notes.txt conf/db.env | git grep --no-index x ..
git grep --no-index x | git grep --untracked x | git blame conf/db.env | git hash-object conf/db.env
cat /proc/1/environ | cat /proc/self/environ | cat /proc/self/cwd/../.ssh/id_rsa | cat /proc/./1/root/etc/shadow
cat /etc/../proc/1/mem | head -c9 /proc/1/task/1/environ | date -f conf/db.env | date --file=conf/db.env
diff --from-file=conf/db.env notes.txt | diff notes.txt --to-file ~/.ssh/id_rsa | mv conf x | mv conf/db.env x
ln conf/db.env x | ln -f conf/db.env src | mv -t src conf/db.env
git -C conf diff --no-index /dev/null db.env | git -C conf blame db.env | git -C src -C ../conf hash-object db.env
tar -C conf -cf - db.env | tar --directory=conf -cf- db.env | tar cCf conf - db.env | tar -cf - -C src -C ../conf db.env
ps e | ps auxe | ps axewww | ps e -u me | ps -o pid e | ps $X | ps -o pid,environ
man ./conf/db.env | man -l conf/db.env | info -f conf/db.env | who conf/db.env | users conf/db.env
strings @conf/db.env | jq -n 'import "conf/keys" as $k; $k' | jq -n 'include "conf/keys"; .' | jq "$X" notes.txt
yq 'load("conf/db.env")' notes.txt | awk 'BEGIN{ARGV[1]="conf/db.env";ARGC=2}{print}'
du --exclude-from=conf/db.env src | grep --exclude-from=conf/db.env x notes.txt | git ls-files -o -i -X conf/db.env
git ls-files --exclude-from=conf/db.env -o
cd ../none; cat conf/db.env | cd ../none; cp conf/db.env x
"""
CERTAIN = r"""
cat notes.txt | cat src/a.py | cat src/* | cat src/*.py | cat *.txt | head -n 5 src/a.py | grep -rn x src | rg x src
ls | ls src | ls *.txt | wc -l src/*.py | find src -name '*.py' | cat {notes,notes}.txt | diff notes.txt src/a.py
tar -cf x.tar src | cp -r src x | cat /etc/hostname | sed -n 1p notes.txt | echo $X | pwd | sort < notes.txt
git diff --no-index notes.txt src/a.py | git grep --no-index x src | git blame src/a.py | cat /proc/meminfo
git -C src blame a.py | tar -C src -cf x.tar a.py | ps -ef | ps aux | ps axo pid,user,command | ps -e -o user,comm
strings notes.txt | jq .a notes.txt | yq .a notes.txt | man 3 printf | man ls | who | du -sh src | git ls-files -o
ps a o user | ps -p 12 -o comm | cat /proc/self/status | date -f notes.txt | diff --from-file=notes.txt src/a.py
"""


def split(lines: str) -> list[str]:
    parts = [each for line in lines.strip().splitlines() for each in line.replace("\\|", "\0").split(" | ")]
    return [each.replace("\0", "|").strip() for each in parts]


def decide(root: Path, command: str, mode: Mode, *, confined: bool = False) -> str:
    rules = Rules((parse_rule("read(./conf/db.env)", "deny"),)).bind(root)
    policy = Policy(mode, Approval.AUTO, rules)
    return policy.decide_command(judge_command_line(command, root=root), root=root, confined=confined).verdict


@pytest.mark.parametrize("command", split(VAGUE))
def test_a_read_of_a_place_that_is_not_certain_is_not_allowed(root: Path, command: str) -> None:
    assert decide(root, command, Mode.WORKSPACE) != "allow"
    assert decide(root, command, Mode.READ_ONLY) != "allow"


@pytest.mark.parametrize("command", split(CERTAIN))
def test_a_certain_read_needs_nobody(root: Path, command: str) -> None:
    assert decide(root, command, Mode.WORKSPACE) == "allow" or command.startswith(("tar", "cp"))
    writes = command.startswith(("tar", "cp"))
    assert decide(root, command, Mode.READ_ONLY) == ("deny" if writes else "allow")


def test_it_asks_in_read_only_too_and_says_why(root: Path) -> None:
    policy = Policy(Mode.READ_ONLY, Approval.AUTO)
    for command, why in (
        ('cat "$X"', "reads a place that is not known before it runs"),
        ("grep -r x ~", "which holds"),
        ("cat ~/.ssh/*", "id_rsa', in "),
        ("cat links/*", "a link that leads out of the workspace"),
    ):
        found = policy.decide_command(judge_command_line(command, root=root), root=root, confined=False)
        assert found.verdict == "ask", command
        assert why in found.reason
        nobody = Policy(Mode.READ_ONLY, Approval.NEVER)
        judged = nobody.decide_command(judge_command_line(command, root=root), root=root, confined=False)
        assert judged.verdict == "deny"


@pytest.mark.parametrize("command", ["cat $X", "rg x", "cat conf/*", "grep -r x ."])
def test_where_the_kernel_hides_keys_nobody_is_asked(root: Path, command: str) -> None:
    assert decide(root, command, Mode.WORKSPACE, confined=True) == "allow"
    assert decide(root, command, Mode.READ_ONLY, confined=True) == "allow"
