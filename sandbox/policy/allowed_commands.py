"""Whether a rule that allows commands says all that one of them does, where nothing confines it.

A wildcard stands for words, not for effects: `sort *` does not allow `sort -o /etc/x`, nor `make *` `make -C /other`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.effects import Effect
from sandbox.policy.rules import NO_RULES, Rule
from sandbox.policy.shell import Segment, judge_command_line
from sandbox.policy.shell.commands.options import find_spec
from sandbox.policy.shell.commands.path_effects import HARMLESS_DEVICES
from sandbox.policy.vague_reads import explain_vague_read

_WILD = compile_lazily(r"[*?]")
_PARTS = compile_lazily(r"[=,]|:(?!//)|(?<=^-\w)")
"""Between the parts of an argument that may be paths: `--prefix=/other`, `-C/other`."""

_ADDRESS = compile_lazily(r"[a-z][a-z0-9+.-]*://(?:[^/@]*@)?([^/:?#]*)")
_REMOTE_PLACE = compile_lazily(r"[a-z][a-z0-9+.-]*::?//|[\w.-]+@[\w.-]+:|[\w-]+(?:\.[\w-]+)+:")
"""A repository on another machine, as an address or in scp's form."""


_MORE: Mapping[str, frozenset[str]] = {
    name: frozenset(options.split())
    for names, options in (
        (
            "tar bsdtar gtar",
            "--to-command --checkpoint-action -I --use-compress-program -F --info-script --rsh-command",
        ),
        ("make gmake", "--eval -E"),
        ("go", "-exec -toolexec -vettool"),
        ("npm pnpm yarn bun", "-g --global --location --script-shell"),
        ("pip pip3 uv", "--user --target -t --prefix --root --system --python"),
        ("gem", "--install-dir -i --user-install"),
        ("vim vi nvim ex", "-c -S --cmd -s"),
        ("rg", "--pre --hostname-bin"),
        ("gdb lldb", "-ex -o -batch -iex"),
    )
    for name in names.split()
}
"""By program, options that run what a command line says, or install for everything: a rule has to say them."""


def _names_more(rule: Rule, argv: Sequence[str]) -> bool:
    """Return whether a command has such an option that the words of the rule have not."""
    more = _MORE.get(os.path.basename(argv[0]), frozenset())  # noqa: PTH119 (a word)
    said = set(rule.pattern.split())
    given = {word.partition("=")[0] for word in argv[1:] if word.startswith("-")}
    given |= {word[:2] for word in argv[1:] if word[:1] == "-" and word[1:2] != "-"}
    letters = {
        f"-{letter}" for word in argv[1:] if word[:1] == "-" and word[1:2].isalpha() for letter in word[1:]
    }
    short = {each for each in more if len(each) == 2}
    abbreviated = {full for full in more for each in given if len(each) > 3 and full.startswith(each)}
    return not ((given & more) | (letters & short) | abbreviated) <= said


def says_all(rule: Rule, segment: Segment, root: Path) -> bool:
    """Return whether the words of a rule say each effect of a command, and each place outside of the workspace."""
    if segment.elsewhere:
        return False
    if not _WILD.search(rule.pattern):
        return True
    if segment.argv is None:  # a word is not known before it runs
        return False
    if _names_more(rule, segment.argv):
        return False
    said = {_resolve(word, root) for word in rule.pattern.split() if not _WILD.search(word)}
    kinds = _list_kinds(_cut_words(rule.pattern))
    hosts = [found[1] for word in rule.pattern.split() if (found := _ADDRESS.match(word))]
    for effect in segment.effects:
        if effect.kind in ("none", "read"):
            if (
                effect.outside
                and not said.issuperset(effect.paths)
                and explain_vague_read(effect, root, NO_RULES)
            ):
                return False
        elif effect.kind == "write":
            usual = not effect.outside and kinds & {"write", "execute"}
            if not usual and not said.issuperset(_resolve(path, root) for path in effect.paths):
                return False
        elif effect.kind not in kinds or (
            effect.kind == "network" and not _says_hosts(hosts, effect, segment.argv)
        ):
            return False
    is_known = all(effect.kind in ("none", "read", "write") for effect in segment.effects)
    return is_known or said.issuperset(_list_places_outside(segment.argv, root))


def _cut_words(pattern: str) -> str:
    """Return the words of a pattern before its first wildcard."""
    words = pattern.removesuffix(":*").split()
    first = next((at for at, word in enumerate(words) if _WILD.search(word)), len(words))
    return " ".join(words[:first])


@cache
def _list_kinds(command: str) -> frozenset[str]:
    """Return the kinds of effects that a command has by these words alone, a write to one of its operands, too."""
    judged = [judge_command_line(each, root=Path("/nowhere")).effects for each in (command, f"{command} x x")]
    spec = find_spec(command.split(" ")[0])
    usual = {effect.kind for effect in judged[1]} | set(spec.kinds if spec else ())
    return frozenset({effect.kind for effect in judged[0]} | usual & {"write"})


def _says_hosts(hosts: Sequence[str], effect: Effect, argv: Sequence[str]) -> bool:
    """Return whether a rule's words say each host of a command. Words without any leave git to its remotes."""
    if not hosts:
        is_git = argv[0] == "git" and not {"clone", "submodule", "remote"}.intersection(argv)
        return not (is_git and any(map(_REMOTE_PLACE.match, argv)))
    found = [match[1] for word in argv for part in word.split("=") if (match := _ADDRESS.match(part))]
    # `https://a.example*` means a path there, and not `a.example.evil.org`.
    wanted = [host.rstrip("*") or host for host in hosts]
    return all(any(fnmatchcase(each, host) for host in wanted) for each in (*found, *effect.hosts))


def _list_places_outside(argv: Sequence[str], root: Path) -> Iterator[str]:
    top = os.path.realpath(root)
    for word in argv[1:]:
        if word.startswith("@") and (root / word[1:]).is_file():
            yield word  # more words, which nobody sees
        if word.lower().startswith("file:"):
            yield _resolve("/" + word[5:].lstrip("/"), root)
        for part in _PARTS.split(word):
            place = _resolve(part.lstrip("@<"), root)
            is_place = part not in HARMLESS_DEVICES and _ADDRESS.match(part) is None
            if is_place and place != top and not place.startswith(f"{top}/"):
                yield place


def _resolve(word: str, root: Path) -> str:
    return os.path.realpath(root / os.path.expanduser(word))  # noqa: PTH111 (a string)
