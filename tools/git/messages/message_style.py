"""Style of a repository's commit messages, learned from the latest ones: no setting, no inference from few."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from sandbox.fs.regular_file import SETTINGS, read_regular_text
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.git.git_process import Git
from tools.git.messages.message_rules import BODY_WIDTH, NO_RULES, MessageRules, add_sign_off, wrap_body
from tools.git.messages.rule_files import read_message_rules

LOOKED_AT = 100
"""Commits that are read: conventions of years ago may be out of use."""

ENOUGH = 8
"""Minimum number of commits to infer a convention."""

MOSTLY, ALWAYS = 0.6, 0.9
"""Shares of commits from which a convention is followed, and from which breaking it is an error."""

WIDTH = 72
"""Maximum characters of a subject, unless the repository's are longer: the width of `git log` in 80 columns."""

CONVENTIONAL = compile_lazily(r"(?P<type>[a-z]+)(?:\((?P<scope>[^()]+)\))?(?P<breaking>!)?: (?P<rest>\S.*)")
"""A subject as specified in https://www.conventionalcommits.org/en/v1.0.0/."""

_TICKET = compile_lazily(r"(?P<open>\[?)(?P<ticket>[A-Z][A-Z0-9]{1,9}-\d+)(?P<close>\]?(?:: | - | |:))(?=\S)")
_TICKET_NAME = compile_lazily(r"(?<![A-Za-z0-9])[A-Z][A-Z0-9]{1,9}-\d+(?![A-Za-z0-9])")

MOST_TEMPLATE = 2_000
"""Characters of a template that are shown."""

_WORDS = {
    "en": "add fix use make remove the to for and of in with from when not allow update support change rename",
    "de": "der die das und für nicht mit ist hinzugefügt hinzufügen entfernt behoben ändern korrigiert auf bei eine",
    "fr": "le la les des et pour une du ajout ajoute ajouter corrige corriger supprime dans avec sur pas mise",
    "es": "el los las del y para una añade añadir agrega corrige corregir elimina con en sin cambia actualiza",
    "pt": "o os as do da e para uma adiciona adicionar corrige remove com em sem não altera atualiza",
}
"""Frequent words of subjects. Words of more than one language count for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """Common properties of the latest subjects.

    commits: how many were read; fewer than ENOUGH are too few to learn from
    conventional: share of `type(scope): subject`; types and scopes: those in use, the most frequent first
    scoped: share of the conventional ones with a scope
    ticket: the form of a ticket in front, such as "[{}] ", "" if most have none; ticketed: share of those with one
    capital, stop: share of subjects (after type or ticket) with a capital in front, with a full stop behind
    width: characters that a subject may have
    language: of the subjects, as "en"
    examples: some subjects, the latest first
    rules: that the project states in files
    is_signed: commits are signed off: nearly all are, or the project's rules want it
    template: text of `commit.template`
    """

    commits: int = 0
    conventional: float = 0.0
    types: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    scoped: float = 0.0
    ticket: str = ""
    ticketed: float = 0.0
    capital: float = 1.0
    stop: float = 0.0
    width: int = WIDTH
    language: str = "en"
    examples: tuple[str, ...] = ()
    rules: MessageRules = NO_RULES
    is_signed: bool = False
    template: str = ""

    @property
    def is_known(self) -> bool:
        """Whether there were enough commits to learn from."""
        return self.commits >= ENOUGH


def learn_style(git: Git) -> Style:
    """Infer the style of the repository's latest commits, merges excluded, and read the rules that it states."""
    rules = read_message_rules(git.root)
    template = _read_template(git)
    if not git.run_text("rev-parse", "--verify", "--quiet", "HEAD", ok=(0, 1, 128)):
        return Style(rules=rules, is_signed=rules.is_signed, template=template)
    signed = "%x00%(trailers:key=Signed-off-by,valueonly,separator=%x2C)"
    options = (f"--max-count={LOOKED_AT}", "--no-merges", f"--format=%s{signed}", "--no-show-signature")
    lines = git.run("log", *options).decode("utf-8", "replace").splitlines()
    pairs = [each.partition("\0") for each in lines]
    kept = [
        (subject, bool(signers))
        for subject, _, signers in pairs
        if subject and not subject.startswith(("Revert ", "fixup!", "squash!"))
    ]
    style = infer_style([subject for subject, _ in kept])
    is_signed = style.is_known and sum(signed for _, signed in kept) >= ALWAYS * len(kept)
    return replace(style, rules=rules, is_signed=is_signed or rules.is_signed, template=template)


def _read_template(git: Git) -> str:
    """Return the beginning of the user's template for messages, "" without one."""
    name = git.read_setting("commit.template", "path")
    place = git.root / name if name else git.root / ".gitmessage"
    return (read_regular_text(place, SETTINGS, "replace") or "")[:MOST_TEMPLATE]


def finish_message(message: str, style: Style, committer: str) -> str:
    """Return a message with its body wrapped, and signed off by the committer where commits here are.

    committer: as `git var GIT_COMMITTER_IDENT` prints it
    """
    rules = style.rules
    width = min(filter(None, (BODY_WIDTH, rules.body_length)))
    text = wrap_body(message, width)
    person = committer.rpartition("> ")[0]
    return add_sign_off(text, f"{person}>") if style.is_signed and person else text


def add_ticket(message: str, style: Style, ticket: str) -> str:
    """Return a message with the branch's ticket in front, where commits here begin with one and it has none."""
    has_none = bool(style.ticket and ticket) and not _TICKET.match(message)
    return f"{style.ticket.format(ticket)}{message}" if has_none else message


def infer_style(subjects: Sequence[str]) -> Style:
    """Infer the style of subjects, given latest first."""
    number = len(subjects)
    if not number:
        return Style()
    tickets = [match for each in subjects if (match := _TICKET.match(each))]
    bare = [_TICKET.sub("", each, count=1) if _TICKET.match(each) else each for each in subjects]
    matches = [match for each in bare if (match := CONVENTIONAL.fullmatch(each))]
    rests = [match["rest"] if (match := CONVENTIONAL.fullmatch(each)) else each for each in bare]
    scopes = Counter(match["scope"] for match in matches if match["scope"])
    forms = Counter(f"{match['open']}{{}}{match['close']}" for match in tickets)
    ticketed = len(tickets) / number
    lengths = sorted(map(len, subjects))
    return Style(
        commits=number,
        conventional=len(matches) / number,
        types=tuple(name for name, _ in Counter(match["type"] for match in matches).most_common()),
        scopes=tuple(name for name, _ in scopes.most_common()),
        scoped=sum(scopes.values()) / len(matches) if matches else 0.0,
        ticket=forms.most_common(1)[0][0] if ticketed >= MOSTLY else "",
        ticketed=ticketed,
        capital=sum(each[:1].isupper() for each in rests) / number,
        stop=sum(each.endswith(".") for each in rests) / number,
        width=max(WIDTH, lengths[int(number * 0.95) - 1] if number >= ENOUGH else 0),
        language=_guess_language(rests),
        examples=tuple(subjects[:12]),
    )


def _guess_language(subjects: Sequence[str]) -> str:
    words = Counter(word.lower() for each in subjects for word in re.findall(r"[^\W\d_]+", each))
    scores = {name: sum(words[word] for word in known.split()) for name, known in _WORDS.items()}
    best = max(scores, key=lambda name: scores[name])
    return best if scores[best] > scores["en"] else "en"


def find_ticket(branch: str) -> str:
    """Return the ticket in a branch's name: "PAY-12" of "feature/PAY-12-round"; "" if none."""
    match = _TICKET_NAME.search(branch)
    return match[0] if match else ""


def check_message(message: str, style: Style) -> tuple[list[str], list[str]]:
    """Return (errors, warnings) about a message without comments. Errors: conventions that nearly all commits keep."""
    lines = message.strip().split("\n")
    subject = lines[0]
    errors: list[str] = []
    warnings: list[str] = []
    if not subject.strip():
        return ["the message is empty"], []
    if subject.startswith(("Merge ", "Revert ", "fixup!", "squash!", "amend!")):
        return [], []  # generated by git
    if len(lines) > 1 and lines[1].strip():
        warnings.append("the second line is not empty: git takes it for a part of the subject")
    errors += style.rules.check(message)
    if len(subject) > style.width:
        warnings.append(f"the subject has {len(subject)} characters, more than {style.width}")
    if not style.is_known:
        return errors, warnings
    bare = _TICKET.sub("", subject, count=1) if _TICKET.match(subject) else subject
    match = CONVENTIONAL.fullmatch(bare)
    if match is None and style.conventional >= MOSTLY and not style.rules.is_conventional:
        known = ", ".join(style.types[:6])
        (errors if style.conventional >= ALWAYS else warnings).append(
            f"commits here begin with a type, such as {known}: “{style.examples[0]}”"
        )
    if style.ticket and not _TICKET.match(subject):
        (errors if style.ticketed >= ALWAYS else warnings).append(
            f"commits here begin with a ticket: “{style.examples[0]}”"
        )
    return errors, warnings
