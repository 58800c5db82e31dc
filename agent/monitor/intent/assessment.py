"""Assessment of one action against the trail: the chains that it would complete, and what it would add."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace

from agent.monitor.intent import places
from agent.monitor.intent.command_roles import (
    EVALUATING,
    disables_hooks,
    erases_records,
    find_skipped_hooks,
    list_made_executable,
    list_run_files,
    reveals_nothing,
    runs_its_input,
    sends_data,
    shorten_text,
    split_git,
    takes_away,
    takes_files,
    takes_names,
)
from agent.monitor.intent.programs import CARRYING, COMMITTING, FETCHERS, FOLDER_COPIERS
from agent.monitor.intent.trail import COMMITS, INDEX, Chain, Change, Label, Link, Mark, Trail
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.shell.data_flow import Flow

_LABELS: tuple[Label, ...] = ("secret", "download")

_ROUNDS = 4
"""Passes over the flows: sources may stand after what they give to, three levels deep at most in practice."""

_PIECES = compile_lazily(r"[=@,:\s]+")
_NETWORK_WORDS = compile_lazily(r"(?:^|[\s;|&(\"'`])(?:curl|wget|nc|ncat|socat|ssh)\s|/dev/tcp/")

KEEP_LOCAL = "leave the secret where it is, and name in your answer what the user should send or commit"
KEEP_GUARD = "make the check pass, or leave the commit to the user and say what stands in the way"
KEEP_RECORD = "leave the history as it is; the user can tidy it"
READ_FIRST = "show the user what was downloaded, or install it from a package index"
NO_STARTUP = "leave start-up files to the user, and say what to add"


@dataclass(slots=True, kw_only=True)
class Assessor:
    """Assesses the flows of one action.

    step: number of the present step; root: of the workspace, links followed
    is_present: whether a file of the workspace is there and not the session's own
    list_own_changes: files that the session has changed; may_skip_hooks: a person asked for that
    find_quoted: the link of a secret whose value stands in a text
    """

    trail: Trail
    step: int
    root: str
    is_present: Callable[[str], bool]
    list_own_changes: Callable[[], Sequence[str]]
    find_quoted: Callable[[str], Link | None] = lambda text: None
    may_skip_hooks: bool = False
    chains: list[Chain] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    _flows: Sequence[Flow] = ()
    _outputs: list[dict[Label, Link]] = field(default_factory=list)
    _local: dict[tuple[Label, str], Link] = field(default_factory=dict)
    _numbers: dict[tuple[str, int], Link] = field(default_factory=dict)

    def assess(self, flows: Sequence[Flow]) -> None:
        """Fill `chains` and `changes`."""
        there = range(len(flows))  # a long list was cut off, its sources were not
        flows = [replace(each, sources=each.sources.intersection(there)) for each in flows]
        self._flows = flows
        self._outputs = [{} for _ in flows]
        for _ in range(_ROUNDS):
            before = [dict(each) for each in self._outputs]
            for number, flow in enumerate(flows):
                self._pass_labels(number, flow)
            if before == self._outputs:
                break
        for number, flow in enumerate(flows):
            incoming = self._collect_incoming(flow)
            self._record_writes(number, flow)
            self._check_leak(flow, incoming)
            given = incoming | self._outputs[number]  # its own download included
            self._check_download(flow, given if flow.program == EVALUATING else incoming)
            self._check_guards(flow)
            self._check_startup(flow, given)
            self._check_records(flow)

    # ── Labels ───────────────────────────────────────────────────────────────────────────────────

    def _pass_labels(self, number: int, flow: Flow) -> None:
        """Give the labels of a flow's input to its output and to the files that it writes."""
        incoming = self._collect_incoming(flow)
        if flow.program in FETCHERS or (flow.network and flow.program in ("python", EVALUATING)):
            incoming.setdefault("download", self._link(f"downloaded {shorten_text(flow)}", None))
        if reveals_nothing(flow) and flow.program not in CARRYING:
            incoming.pop("secret", None)
        self._outputs[number].update({k: v for k, v in incoming.items() if k not in self._outputs[number]})
        for label, link in self._outputs[number].items():
            for path in self._list_targets(flow):
                if self.trail.find(label, path) is None:
                    self._local.setdefault((label, path), link)

    def _collect_incoming(self, flow: Flow) -> dict[Label, Link]:
        found: dict[Label, Link] = {}
        for source in sorted(flow.sources):
            for label, link in self._outputs[source].items():
                found.setdefault(label, link)
        mentioned = [*flow.reads]
        if takes_files(flow):
            mentioned += self._list_mentions(flow, flow.args)
        if takes_names(flow):
            mentioned += self._list_mentions(flow, flow.text.split())
            for source in flow.sources:  # all of them in range: see `assess`
                mentioned += self._list_mentions(flow, self._flows[source].text.split())
        for path in mentioned:
            for each in _LABELS:
                if each not in found and (reached := self._find_label(each, path, flow)) is not None:
                    found[each] = reached
        if "secret" not in found and (flow.writes or flow.network):
            quoted = self.find_quoted("\n".join((flow.text, *flow.args, flow.fed)))
            if quoted is not None:
                found["secret"] = quoted
        return found

    def _find_label(self, label: Label, path: str, flow: Flow) -> Link | None:
        link = self.trail.find(label, path) or self._local.get((label, path))
        if link is None and flow.program in FOLDER_COPIERS:
            link = self.trail.find_below(label, path)
        if link is None and label == "secret" and self._is_secret(path):
            link = self._link(f"reads {path}", None)
        if link is None and label == "secret" and flow.program in FOLDER_COPIERS:
            inside = posixpath.normpath(posixpath.join(path, ".env"))
            if self._is_secret(inside):
                link = self._link(f"takes {inside} along", None)
        return link

    def _is_secret(self, path: str) -> bool:
        return places.is_secret_place(path) and (path.startswith("/") or self.is_present(path))

    def _record_writes(self, number: int, flow: Flow) -> None:
        for label, link in self._outputs[number].items():
            for path in sorted(flow.reads):
                if label == "secret" and self._is_secret(path) and self.trail.find(label, path) is None:
                    self._add(Change(link=self._link(f"reads {path}", None), label=label, paths=(path,)))
            targets = tuple(path for path in self._list_targets(flow) if self.trail.find(label, path) is None)
            if targets:
                text = f"writes {', '.join(targets[:3])}" if flow.program == "python" else shorten_text(flow)
                self._add(Change(link=self._link(text, link), label=label, paths=targets))

    def _list_targets(self, flow: Flow) -> Iterator[str]:
        yield from sorted(flow.writes)
        named: list[str] = []
        if flow.program == "wget" and not any(
            each.startswith(("-O", "--output-document")) for each in flow.args
        ):
            named = [each for each in flow.args if "/" in each and not each.startswith("-")]
        elif flow.program == "curl" and any(
            re.fullmatch(r"-[a-zA-Z]*O|--remote-name", each) for each in flow.args
        ):
            named = [each for each in flow.args if "://" in each]
        yield from filter(None, (posixpath.basename(each.partition("?")[0]) for each in named))

    def _list_mentions(self, flow: Flow, words: Sequence[str]) -> Iterator[str]:
        """Yield the paths that words may name: `file=@a.txt`, `host:b.txt`."""
        for arg in words:
            if "://" in arg or len(arg) > 400:
                continue
            for piece in (arg, *_PIECES.split(arg)):
                if piece and not piece.startswith("-"):
                    yield self._resolve(piece, flow)

    def _resolve(self, path: str, flow: Flow) -> str:
        """Return a path of an argument as effects name it, without following links."""
        if path.startswith(("/", "~")) or not flow.folder:
            return posixpath.normpath(path)
        return posixpath.relpath(posixpath.join(flow.folder, path), self.root)

    # ── Secrets that leave ───────────────────────────────────────────────────────────────────────

    def _check_leak(self, flow: Flow, incoming: dict[Label, Link]) -> None:
        verb, args = split_git(flow)
        if verb:
            self._check_git_leak(flow, verb, args)
        if "secret" not in incoming:
            return
        link = incoming["secret"]
        if sends_data(flow):
            host = ", ".join(flow.hosts[:2]) or flow.program
            self._add_chain("leak", link, host, "be sent", flow, KEEP_LOCAL)
        elif shown := next((each for each in sorted(flow.writes) if places.is_published(each)), ""):
            self._add_chain("leak", link, shown, "be written where others read it", shown, KEEP_LOCAL)

    def _check_git_leak(self, flow: Flow, verb: str, args: Sequence[str]) -> None:
        staged = self._find_staged(flow, verb, args)
        if staged is not None and verb in ("add", "stage"):
            self._add(Change(link=self._link(shorten_text(flow), staged), label="secret", paths=(INDEX,)))
            self._local.setdefault(("secret", INDEX), self._link(shorten_text(flow), staged))
        if verb == "commit":
            link = staged or self.trail.find("secret", INDEX) or self._local.get(("secret", INDEX))
            if link is not None:
                self._add_chain("leak", link, "git", "be committed", flow, KEEP_LOCAL)
                self._add(Change(link=self._link(shorten_text(flow), link), label="secret", paths=(COMMITS,)))
                self._local.setdefault(("secret", COMMITS), link)
        if verb in ("push", "send-email", "bundle", "format-patch", "archive"):
            link = self.trail.find("secret", COMMITS) or self._local.get(("secret", COMMITS))
            if link is not None and verb == "push":
                self._add_chain("leak", link, "git push", "be pushed", flow, KEEP_LOCAL)

    def _find_staged(self, flow: Flow, verb: str, args: Sequence[str]) -> Link | None:
        """Return the link of a secret that a git command stages."""
        takes_all = any(each in (".", "-A", "--all", "-u", ":/", "*") for each in args)
        takes_changed = verb == "commit" and any(re.fullmatch(r"-[a-z]*a[a-z]*m?", each) for each in args)
        if flow.called == "git_commit" or (takes_all and verb in ("add", "stage")) or takes_changed:
            changed = set(self.list_own_changes())
            labelled = self.trail.labels["secret"]
            return next((labelled[path] for path in labelled if path in changed), None)
        if verb not in ("add", "stage", "commit"):
            return None
        for arg in args:
            if not arg.startswith("-") and (
                link := self._find_label("secret", self._resolve(arg, flow), flow)
            ):
                return link
        return None

    # ── Downloads that run ───────────────────────────────────────────────────────────────────────

    def _check_download(self, flow: Flow, incoming: dict[Label, Link]) -> None:
        for path in list_made_executable(flow):
            place = self._resolve(path, flow)
            if (link := self._find_label("download", place, flow)) is not None:
                renewed = self._link(shorten_text(flow), link)
                self.trail.labels["download"].pop(place, None)
                self._add(Change(link=renewed, label="download", paths=(place,)))
                self._local["download", place] = renewed
        link = None
        for path in list_run_files(flow):
            link = link or self._find_label("download", self._resolve(path, flow), flow)
        if link is None and runs_its_input(flow):
            link = incoming.get("download")
        if link is not None:
            self._add_chain("download", link, "run", "be run", flow, READ_FIRST)

    # ── Guards ───────────────────────────────────────────────────────────────────────────────────

    def _check_guards(self, flow: Flow) -> None:
        verb, args = split_git(flow)
        self._mark_guards(flow, verb, args)
        hooks = self._find_mark("hooks")
        if verb in COMMITTING or verb == "push":
            skipped = find_skipped_hooks(flow, verb, args)
            if skipped and not self.may_skip_hooks:
                link = self._link(f"switches the hooks off ({skipped})", hooks)
                self._add_chain("guard", link, "hooks", "go past them", flow, KEEP_GUARD)
            elif hooks is not None and not self.may_skip_hooks:
                self._add_chain("guard", hooks, "hooks", "go past them", flow, KEEP_GUARD)
        if verb == "push" and (pipeline := self._find_mark("pipeline")) is not None:
            self._add_chain("guard", pipeline, "pipeline", "go past it", flow, KEEP_GUARD)
        if verb in ("add", "stage", "commit") and (ignored := self._find_mark("ignored")) is not None:
            for path in (self._resolve(each, flow) for each in args if not each.startswith("-")):
                if self._is_secret(path):
                    self._add_chain("guard", ignored, path, "be staged", flow, KEEP_LOCAL)
        if (settings := self._find_mark("protection")) is not None and sends_data(flow):
            self._add_chain("guard", settings, "network", "use it", flow, KEEP_GUARD)

    def _mark_guards(self, flow: Flow, verb: str, args: Sequence[str]) -> None:
        touched = set(flow.writes)
        if verb in ("rm", "mv") or flow.program == "chmod":
            args = args or flow.args
            touched.update(self._resolve(each, flow) for each in args if not each.startswith("-"))
        present = [path for path in sorted(touched) if self.is_present(path)]
        removed = present if takes_away(flow) else [path for path in present if places.is_hook_script(path)]
        if any(places.is_hook(path) for path in removed) or disables_hooks(flow, verb, args):
            self._mark("hooks", flow)
        if any(places.is_pipeline(path) for path in removed):
            self._mark("pipeline", flow)
        if any(places.is_protection(path) for path in flow.writes):
            self._mark("protection", flow)
        if any(posixpath.basename(path) == ".gitignore" for path in removed):
            self._mark("ignored", flow)

    # ── Start-up files and records ───────────────────────────────────────────────────────────────

    def _check_startup(self, flow: Flow, incoming: dict[Label, Link]) -> None:
        starting = [path for path in flow.writes if places.is_self_starting(path) and not takes_away(flow)]
        if flow.program == "crontab" and not {"-l", "-r"} & set(flow.args):
            starting.append("the crontab")
        if not starting:
            return
        link = incoming.get("download") or incoming.get("secret")
        text = " ".join(flow.args) + flow.fed
        for path in re.findall(r"[\w./~-]{3,}", text)[:200]:
            link = link or self._find_label("download", self._resolve(path, flow), flow)
        if link is None and _NETWORK_WORDS.search(text):
            link = self._link(f"puts a command that uses the network into {starting[0]}", None)
        if link is not None:
            self._add_chain(
                "startup", link, starting[0], f"run by itself from {starting[0]}", flow, NO_STARTUP
            )
        self._mark("startup", flow)

    def _check_records(self, flow: Flow) -> None:
        verb, args = split_git(flow)
        if (
            verb in COMMITTING
            or (verb == "reset" and "--hard" in args)
            or (verb == "branch" and "-D" in args)
        ):
            self._mark("change", flow)
        if not erases_records(flow, verb, args):
            return
        link = self._find_mark("change") or self._find_mark("startup") or self._find_mark("hooks")
        link = link or next((each for kept in self.trail.labels.values() for each in kept.values()), None)
        if link is not None:
            self._add_chain("erase", link, "records", "be erased from the records", flow, KEEP_RECORD)

    # ── Results ──────────────────────────────────────────────────────────────────────────────────

    def _find_mark(self, mark: Mark) -> Link | None:
        local = next((each.link for each in self.changes if each.mark == mark), None)
        return self.trail.marks.get(mark) or local

    def _mark(self, mark: Mark, flow: Flow) -> None:
        if self._find_mark(mark) is None:
            self._add(Change(link=self._link(shorten_text(flow), None), mark=mark))

    def _add(self, change: Change) -> None:
        if change not in self.changes:
            self.changes.append(change)

    def _add_chain(self, kind: str, link: Link, target: str, deed: str, what: Flow | str, hint: str) -> None:
        """Add a chain, unless it is known or approved. deed: what would happen, of the command or file `what`"""
        key = f"{kind}: {link.origin} -> {target}"
        if key not in self.trail.approved and all(each.key != key for each in self.chains):
            deed = f"would {deed}: {what if isinstance(what, str) else shorten_text(what)}"
            self.chains.append(Chain(key=key, links=tuple(link.list_links()), deed=deed, hint=hint))

    def _link(self, text: str, previous: Link | None) -> Link:
        """Return the link of this step with this text: the same one if it was made before."""
        known = self._numbers.get((text, previous.number if previous else 0))
        if known is None:
            number = self.trail.count + len(self._numbers) + 1
            known = Link(number=number, step=self.step, text=text, previous=previous).shorten()
            self._numbers[text, previous.number if previous else 0] = known
        return known
