"""Effects of one command with its arguments, from the command table."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.effects import Effect, EffectKind
from sandbox.policy.rule_places import STANDARD_FOLDERS
from sandbox.policy.shell.commands import options
from sandbox.policy.shell.commands.options import ParsedArguments, Spec
from sandbox.policy.shell.commands.path_effects import NOWHERE, PathClassifier
from sandbox.policy.shell.parsing.expansion import Arg, make_static_arg
from sandbox.policy.shell.parsing.syntax import parse_word_set

MAX_WRAPPERS = 12
"""`nice nice nice …`: no legitimate command has more."""

_KINDS: Mapping[str, EffectKind] = {
    "none": "none", "read": "read", "write": "write", "execute": "execute", "network": "network", "git": "git",
    "destructive": "destructive", "unknown": "unknown",
}  # fmt: skip

_REASONS: Mapping[str, str] = {
    "execute": "runs other code",
    "network": "uses the network",
    "git": "writes git's data",
    "destructive": "may lose work",
    "unknown": "it is not known what this does",
}

_HOST = compile_lazily(r"(?:[a-z][a-z0-9+.-]*:)?(?://)?(?:[^/@\s]*@)?(\[[0-9a-fA-F:]+\]|[A-Za-z0-9_.-]+)")

_SENT_FILE = compile_lazily(r"(?:[^=@]*=)?[@<]([^;,]+)|\w*@(.+)")
"""A file whose content curl sends: `@FILE`, `field=@FILE;type=…`, `name@FILE`."""

_OTHER_FILES = compile_lazily(r"\b(?:import|include|load\w*|system)\b")
"""Words of a jq or yq program by which it reads other files than its operands."""

_READS_ANYTHING = Effect(kind="read", is_vague=True)

ScriptReader = Literal["itself", "bash", "sh"]
"""Interpreter of a script: the present shell, which knows its functions; a separate bash; or any other shell."""

Special = Callable[["Call", Spec, ParsedArguments, Sequence[Arg]], None]
"""Judges a command that the table leaves to code: its spec, the parsed arguments, the raw arguments."""


class Call:
    """Collector of the effects of one command of the source, through all its wrappers.

    functions: names that the source may define; surely: those that certainly are functions at this command
    fed: the static text of a here-document on its input, None if there is none
    """

    def __init__(
        self,
        places: PathClassifier,
        *,
        functions: Iterable[str],
        surely: Iterable[str],
        specials: Mapping[str, Special],
        fed: str | None,
    ) -> None:
        self.places = places
        self.fed = fed
        self.effects: list[Effect] = []
        self.scripts: list[tuple[str, ScriptReader]] = []
        self.forms: list[str] = []
        self.trusted: list[str] = []  # the forms that omit nothing that matters
        self.bound: list[str] = []  # variables that it assigns
        self.folders = places.folders  # possible working directories of the next command
        self.reshapes = False  # may put a link into an earlier path
        self.program = ""  # the innermost
        self._functions = frozenset(functions)
        self._surely = frozenset(surely)
        self._specials = specials
        self._wrappers = 0
        self._honest = True

    # ── Effects ──────────────────────────────────────────────────────────────────────────────────

    def add_effect(self, effect: Effect) -> None:
        if effect.kind != "none" and effect not in self.effects:
            self.effects.append(effect)

    def add_effect_of_kind(self, kind: str, reason: str = "", *args: Arg) -> None:
        """Add an effect without paths."""
        hosts = (
            tuple(dict.fromkeys(host for arg in args if (host := _extract_host(arg))))
            if kind == "network"
            else ()
        )
        argv = tuple(arg.to_display() for arg in args) if kind == "execute" else ()
        self.add_effect(
            Effect(kind=_KINDS[kind], hosts=hosts, argv=argv, reason=reason or _REASONS.get(kind, ""))
        )

    def add_unknown(self, reason: str) -> None:
        self.add_effect_of_kind("unknown", reason)

    def add_read(self, arg: Arg) -> None:
        self.add_effect(self.places.classify_read(arg))

    def add_write(self, arg: Arg) -> None:
        self.add_effect(self.places.classify_write(arg))

    def add_entry_change(self, arg: Arg) -> None:
        self.add_effect(self.places.classify_removal(arg))

    def add_script(self, args: Sequence[Arg], *, reader: ScriptReader) -> None:
        """Add shell source that is these arguments joined by spaces."""
        if any(arg.text is None for arg in args):
            self.add_unknown("runs a script that is not known before it runs")
        elif len(self.scripts) < MAX_WRAPPERS:
            self.scripts.append((" ".join(arg.text or "" for arg in args), reader))
        else:
            self.add_unknown("runs too many scripts")

    def enter_folder(self, arg: Arg) -> None:
        """Read the paths that follow as from this folder, too, into which an option moves the command."""
        folders = (None,) if arg.text is None else self.places.list_folders_after_cd(arg.text)
        self.places = type(self.places)(root=self.places.root, folders=folders, home=self.places.home)

    # ── Commands ─────────────────────────────────────────────────────────────────────────────────

    def judge_command(self, args: Sequence[Arg]) -> None:
        """Judge `args` as a command: its name and its arguments."""
        self._wrappers += 1
        if not args:
            return
        name = args[0].text
        if name is None or self._wrappers > MAX_WRAPPERS:
            self.add_unknown(f"the command's name, {args[0].source}, is not known before it runs")
            return
        folder, base = posixpath.split(name)
        if folder and name not in self._functions:
            if folder not in STANDARD_FOLDERS:
                self._add_plain_form(args, name)
                self.add_effect_of_kind("execute", f"runs {name!r}", *args)
                return
            name = base
        self.program = name
        self._add_plain_form(args, name)
        spec = options.find_spec(name)
        if name in self._functions and (spec is not None or folder):
            self.add_unknown(f"{name!r} is defined as a function, and is a command too")
            return
        if self._wrappers == 1 and name in self._surely:
            return  # its body is judged at its definition
        if spec is None:
            self.add_effect_of_kind("execute", f"runs {name!r}, which is not known", *args)
            return
        self.apply_spec(spec, args)

    def apply_spec(self, spec: Spec, args: Sequence[Arg]) -> None:
        """Judge a call by its spec in the table."""
        use = options.parse_arguments(spec, args[1:])
        if use.problem and spec.name not in _READS_ITS_OWN_OPTIONS:
            self.add_unknown(use.problem)
        self._honest = self._honest and not use.problem and not use.done and spec.kinds == ("none",)
        replaced = {does for _, does, _ in use.done}
        if "own" in spec.roles:
            self._specials[spec.name](self, spec, use, args)
        elif "reading" in replaced:
            for arg in use.operands + use.inner:
                self.add_read(arg)
            if not use.operands:
                self.add_effect(Effect(kind="read"))
        else:
            self._add_kinds(spec, use, args)
            self._judge_operands(spec, use, replaced)
        walks = (
            spec.name in _WALKERS
            or "walks" in replaced
            or (spec.name == "git grep" and "reading" in replaced)
        )
        if walks and len(use.operands) < 2:  # also where the one operand is no pattern: rather too much
            self.add_read(make_static_arg("."))
        self.apply_options(use)

    def _add_kinds(self, spec: Spec, use: ParsedArguments, args: Sequence[Arg]) -> None:
        for kind in spec.kinds:
            if kind == "read":
                self.add_effect(Effect(kind="read"))
            elif kind == "network":
                self.add_effect_of_kind(
                    "network", "", *(use.operands if spec.roles[-1] in ("url", "host") else ())
                )
            elif kind not in ("none", "write"):
                self.add_effect_of_kind(kind, "", *args)

    def apply_options(self, use: ParsedArguments) -> None:
        """Add the effects of the options."""
        for name, does, value in use.done:
            if does in ("write", "target"):
                if value is None:
                    self.add_unknown(f"the option {name} lacks its file")
                else:
                    self.add_write(value)
            elif does == "read":
                if value is not None:
                    self.add_read(value)
            elif does == "sends" and value is not None:
                if value.text is None:
                    self.add_read(value)
                elif found := _SENT_FILE.match(value.text):
                    self.add_read(make_static_arg(found[1] or found[2]))
            elif does == "names":  # of files, in a file
                self.add_effect(_READS_ANYTHING)
            elif does == "writes-name":
                self.add_write(Arg(text=".", source="."))
            elif does == "reshapes":
                self.reshapes = True
            elif does == "script" and value is not None:
                self.add_script([value], reader="sh")
            elif does in _REASONS:
                self.add_effect_of_kind(
                    does, f"the option {name} {_REASONS[does]}", *([value] if value else [])
                )

    # ── Operands ─────────────────────────────────────────────────────────────────────────────────

    def _judge_operands(self, spec: Spec, use: ParsedArguments, replaced: set[str]) -> None:
        role = spec.roles[0]
        if role in ("to", "move", "link"):
            self._judge_transfer(role, use, replaced)
        else:
            for place, arg in enumerate(use.operands):
                if arg.shape != "one" and _SHIFTS.intersection(spec.roles[place + 1 :]):
                    self.add_unknown(f"{arg.source} may become more arguments than one")
                self._judge_operand(spec.roles[min(place, len(spec.roles) - 1)], arg, replaced)
        if "script" in spec.roles:
            self.add_script(use.inner, reader="itself" if spec.name == "eval" else "sh")
        elif spec.has_inner_command:
            self.judge_command(use.inner)

    def _judge_operand(self, role: str, arg: Arg, replaced: set[str]) -> None:
        if "inplace" in replaced or role == "entry":
            self.add_entry_change(arg)
            if "recursive" in replaced and self.places.is_broad_removal(arg):
                self.add_effect_of_kind(
                    "destructive", f"removes {arg.to_display()!r} with all that is inside"
                )
        elif role == "read" or (role == "text" and "reading" in replaced):
            self.add_read(arg)
        elif role == "write":
            self.add_write(arg)
        elif role == "expands":
            self.add_read(arg)
            if (arg.text or arg.prefix).startswith("@"):
                self.add_effect(_READS_ANYTHING)
        elif role == "filter" and (arg.text is None or _OTHER_FILES.search(arg.text)):
            self.add_effect(_READS_ANYTHING)
        elif role == "format" and not arg.prefix.startswith("+"):
            self.add_unknown(f"{arg.to_display()!r} may be a value to set")

    def _judge_transfer(self, role: str, use: ParsedArguments, replaced: set[str]) -> None:
        """Judge commands with a target: `cp a b c/`, `mv a b`, `ln -s a b`."""
        sources, target = list(use.operands), None
        if "target" in replaced:
            target = next(value for _, does, value in use.done if does == "target")
        elif "writing" in replaced:
            for arg in sources:
                self.add_write(arg)
            return
        elif role == "link" and len(sources) == 1:
            target = Arg(text=".", source=".")
        elif sources:
            target = sources.pop()
        if target is None:
            return
        self.add_write(target)
        for arg in sources:
            if role != "to" and arg.text is not None:
                self.add_read(arg)  # under its new name it can be read
            if role == "move":
                self.add_entry_change(arg)
            elif role == "link":
                self._judge_link_target(arg, target)
            else:
                self.add_read(arg)
        if role != "link":
            self._judge_landing_names(sources, target, replaced)
        self.reshapes = (
            self.reshapes or role == "link" or any(not self._is_surely_file(arg) for arg in sources)
        )

    def _judge_landing_names(self, sources: Sequence[Arg], target: Arg, replaced: set[str]) -> None:
        """Judge the names of files inside a target folder: there may already be links with those names."""
        if target.text is None:
            return
        for folder in self.places.folders:
            place = posixpath.join(folder or "/", target.text)
            if not posixpath.isdir(place):
                continue
            for arg in sources:
                if arg.text is None:
                    self.add_unknown(f"puts {arg.source} into {target.text!r}, over names that are not known")
                    continue
                name = posixpath.basename(arg.text.rstrip("/"))
                landing = posixpath.join(target.text, name)
                self.add_write(Arg(text=landing, source=landing))
                if "reshapes" in replaced and posixpath.lexists(posixpath.join(place, name)):
                    self.add_unknown(f"merges {arg.text!r} into the folder {landing!r}")

    def _judge_link_target(self, arg: Arg, target: Arg) -> None:
        """Judge a link's target: it must be inside, both from the link and from the command's working directory."""
        if arg.text is None or target.text is None:
            self.add_unknown("makes a link to a place that is not known")
            return
        folder = posixpath.dirname(target.text)
        seen = [arg.text, posixpath.join(folder, arg.text), posixpath.join(target.text, arg.text)]
        if not all(self.places.is_inside_workspace(each) for each in seen):
            self.add_unknown(f"makes a link to {arg.text!r}, which leads out of the workspace")

    def _is_surely_file(self, arg: Arg) -> bool:
        """Whether the argument surely is an ordinary file, which cannot create a link."""
        if arg.text is None or None in self.places.folders:
            return False
        found = [posixpath.join(folder or "/", arg.text) for folder in self.places.folders]
        return all(posixpath.isfile(each) and not posixpath.islink(each) for each in found)

    # ── Spellings ────────────────────────────────────────────────────────────────────────────────

    def _add_plain_form(self, args: Sequence[Arg], name: str) -> None:
        self.add_form([name, *(arg.to_display() for arg in args[1:])], honest=True)

    def add_form(self, words: Sequence[str], *, honest: bool) -> None:
        """Add a spelling under which rules may match the command. `honest`: nothing that matters was omitted"""
        text = " ".join(words)
        if text not in self.forms:
            self.forms.append(text)
            if honest and self._honest:
                self.trusted.append(text)


_READS_ITS_OWN_OPTIONS = parse_word_set("find dd tar bsdtar gtar cd pushd popd unzip printf test [ read")
"""Commands with an option syntax of their own."""


_WALKERS = parse_word_set("rg ag")
"""Readers of a folder with all that is inside, the present one unless they are given another."""


_SHIFTS = frozenset(("write", "entry", "command"))
"""Roles to which an argument must not shift because one before it expanded to several."""


def _extract_host(arg: Arg) -> str:
    match = _HOST.match(arg.text or arg.prefix)
    return match[1].strip("[]") if match and "." in match[1] + "." else ""


__all__ = ["NOWHERE", "Call", "Special"]
