"""What a prompt forbids to change: everything, test files, some files, or all files but some."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent.prompt.languages import Language, list_languages
from agent.prompt.prompt_text import find_paths, remove_citations, remove_paths, select_frame, split_clauses
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

_VERB = (
    r"(?:chang(?:e|es|ed|ing)|modif(?:y|ied|ying)|edit(?:s|ed|ing)?|touch(?:ed|ing)?|alter(?:ed|ing)?"
    r"|writ(?:e|ten|ing)|fix(?:ed|ing)?"
    r"|rewrit(?:e|ten|ing)|overwrit(?:e|ten|ing)|updat(?:e|ed|ing)|repair(?:ed|ing)?|mend(?:ing)?"
    r"|apply(?:ing)?|sav(?:e|ed|ing)"
    r"|patch(?:ing)?|implement(?:ing|ed)?|(?:mess|tamper)(?:ing)? with|mak(?:e|ing)(?= (?:any |the "
    r"|a )?(?:\w+ )?(?:change|edit|modification|fix)))"
)
_NEVER = (
    r"(?:please )?(?:do not|don't|dont|do n't|never|(?:you )?(?:must|should|may|shall)(?:n't| not)"
    r"|you (?:cannot|can't|can not)|refrain from|avoid|stop"
    r"|(?:you are |you're )?not (?:allowed|permitted) to|without(?: ever)?|not|no need to)"
)
_ENGLISH = Language(
    name="English",
    marks="the",
    polite="",
    asks="",
    tail="",
    request="",
    repair="",
    change="",
    task="",
    passing="",
    product="",
    texts="",
    ban=rf"(?:^|(?<=\bplease )|(?<=\bjust )|(?<=\balso )|(?<=\byou )|(?<=\band )|(?<=\bto )|(?<=\bto be )"
    rf"|(?<!\w)(?=without\b))"
    rf"{_NEVER}\s+(?:even\s+|actually\s+|ever\s+|yet\s+|really\s+)*{_VERB}(?:(?:\s+or|\s+nor|/)\s*(?:{_VERB}"
    rf"|\w+(?=\s)))*\b"
    rf"|(?P<passive2>\b(?:must|should|may|shall|can)(?: not|n't|not) be {_VERB})"
    r"|\b(?:change|modify|edit|touch|write|fix|alter) nothing\b|\bnothing (?:is to|should|must"
    r"|may) be (?:changed|edited|touched|modified)\b"
    r"|^(?:please )?(?:with |make |making )?(?:no|not any|zero) (?:code |file |source )?(?:changes?|edits?"
    r"|modifications?|writes?|fix(?:es)?|repairs?)\b"
    r"|^i (?:do not|don't|dont) want (?:any |you to make (?:any )?)?(?:code |file )?(?:changes|edits|modifications)\b"
    r"|^read[- ]only(?: mode)?(?: please)?$|^(?:do |as |this is )?(?:an? )?dry[- ]run(?: only)?(?: please)?$"
    r"|(?P<mere>^(?:just|only|simply|merely) (?:explain|tell (?:me|us)|describe|answer|asking|looking"
    r"|curious)\b)"
    r"|\b(?:leave|keep)\b(?P<closed1>[^,;!?\n]*?)\b(?:alone|unchanged|untouched|intact|as (?:it|they) (?:is"
    r"|are)|as[- ]is)(?!\w)"
    r"|^(?:keep (?:your )?)?hands off(?: of)?\b"
    r"|(?P<passive>\b(?:stays?|remains?|is|are|be) (?:unchanged|untouched|off[- ]limits)\b|\b(?:must|should"
    r"|has to|have to) (?:stay|remain) as (?:it|they) (?:is|are)\b)",
    everything=r"(?:anything|any ?thing|things?|files?|code|everything|it|them|nothing|changes?|edits?"
    r"|modifications?|fix(?:es)?|repairs?|repo\w*"
    r"|project|sources?|codebase|patch|working tree|disk)",
    rest=r"\b(?:else|others?|otherwise|unless|except|apart|besides|beyond|outside|but|if|than|only|more than"
    r"|necessary|needed|rest|unrelated)\b",
    tests=r"\b(?:tests?|test files?|test (?:suite|code|cases?)|specs?)\b",
    filler=r"\b(?:a|an|the|any|all|my|our|your|its|of|in|on|to|at all|for now|yet|now|please|here|this|that"
    r"|these|those|single|one|even|just|do|not"
    r"|with|no|code|source|existing|whatsoever|time|until i (?:say|confirm|agree)\w*|before i (?:say|confirm"
    r"|agree)\w*|you|i|is|are|be|existing|me"
    r"|unit|failing|themselves|itself|so|must|should|may|proposed|suggested|it|them|from|for|by|yourself|own"
    r"|either)\b",
    only="",
)
"""Bans in English; its orders have rules of their own (`english_orders`)."""

_ONLY = compile_lazily(
    r"\bonly\b[^.;?!\n]{0,30}?\b(?:change|edit|touch|modify|in)\b|\b(?:change|edit|touch|modify"
    r"|update)\s+(?:only|nothing (?:but|except|other than|else than))\b"
    r"|\b(?:do not|don't|never|without)\s+(?:chang|edit|touch|modify)\w*\s+any(?:thing"
    r"|\s+(?:other )?files?)(?:\s+else)?\s+(?:but|except(?: for)?|other than|besides|apart from"
    r"|outside(?: of)?)\b"
    r"|\b(?:restrict|limit|confine)\b[^.;?!\n]{0,30}?\bto\b|\b(?:changes?|edits?)\s+(?:only )?(?:to"
    r"|in)\b(?=[^.;?!\n]{1,40}\bonly\b)",
    re.IGNORECASE,
)
_HAPPENS = compile_lazily(
    r"\b(?:exits|closes|quits|ends|crashe[sd]|returns|finishes|continues|starts|restarts|logs out|dies|leaves"
    r"|(?:is|are|was|were|gets|got|being) \w+)\s*$",
    re.IGNORECASE,
)
"""Before "without": it tells what happens, as in "the editor exits without saving changes"."""
_SENTENCE = compile_lazily(r"(?:[^.!?;\n。！？；]|[.!?;](?=\S))+")
_ABOUT_TESTS = compile_lazily(
    r"(?:^|(?<=[.!?]\s)|\n|[;:,]\s)\s*(?:all |both )?(?:the |my |our |its |these |those )?(?:\w+ )?tests?"
    r"(?:\s+(?:in|of)\s+[`\"']?\w*test\w*(?:\.\w+)?[`\"']?(?:(?:,"
    r"|\s+and)\s+[`\"']?\w*test\w*(?:\.\w+)?[`\"']?)*)?"
    r"\s+(?:is|are|has|have|must|should|need|needs)\b(?P<rest>(?:[^.!?]|\.(?=\w))*)[.!?]?\s*$",
    re.IGNORECASE,
)
"""Before a pronoun that stands for the tests: "the tests have to pass; leave them as they are" forbids nothing but
changed tests."""
_OF_CODE = compile_lazily(r"\bcode\b|\b\w+\.[a-z]\w*", re.IGNORECASE)
_ORDER = compile_lazily(rf"(?:please\s+)?{_VERB}\b", re.IGNORECASE)
_PRONOUN = compile_lazily(r"\b(?:it|them)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prohibitions:
    """everything: no file may be changed; tests: no test file; paths: none of these; only: none but these"""

    everything: bool = False
    tests: bool = False
    paths: tuple[str, ...] = ()
    only: tuple[str, ...] = ()


def read_prohibitions(text: str) -> Prohibitions:
    """Return what a prompt forbids to change; of a long one, its first and last paragraph say it."""
    frame = remove_citations(select_frame(text))
    only = tuple(dict.fromkeys(_list_only_paths(frame)))
    everything = tests = False
    paths: dict[str, None] = {}
    for target in _list_banned(frame):
        if isinstance(target, str):
            everything |= target == "everything"
            tests |= target == "tests"
        else:
            paths |= dict.fromkeys(target)
    forbidden = tuple(path for path in paths if path not in only)
    return Prohibitions(everything=everything and not only, tests=tests, paths=forbidden, only=only)


def remove_bans(text: str) -> str:
    """Return a text without what it forbids to change: clauses end at their bans; a Japanese one is left out."""
    languages = (_ENGLISH, *list_languages(text))
    kept, start, place = [], 0, 0
    for clause in split_clauses(text):
        start = max(text.find(clause, start), start)
        found = next(((each, ban) for each in languages if (ban := each.search("ban", clause))), None)
        if found is not None:
            ends = start + (0 if found[0].name == "Japanese" else found[1].start())
            kept.append(text[place:ends])
            place = start + len(clause)
    return ".".join([*kept, text[place:]])


def _list_banned(text: str) -> Iterator[str | list[str]]:
    """Yield what each ban is of: "everything", "tests", or paths; nothing for a part of the work, such as a name."""
    last: Language | None = None
    start = 0
    languages = (_ENGLISH, *list_languages(text))
    for clause in split_clauses(text):
        start = max(text.find(clause, start), start)
        before = text[:start]
        language = next((each for each in languages if each.search("ban", clause)), None)
        if language is not None:
            yield from _classify_object(clause, language, before)
        elif last is not None and (named := find_paths(clause)) and _names_only(clause, last):
            yield named  # "do not touch a.py, b.py and c.py"
            language = last
        last = language if find_paths(clause) else None


def _names_only(clause: str, language: Language) -> bool:
    """Return whether a clause after a ban goes on with its files, and orders nothing: not "change b.py"."""
    orders = language.search("change", clause) if language.change else _ORDER.match(clause)
    return orders is None and not _find_rest(clause, language)


def _classify_object(clause: str, language: Language, before: str) -> Iterator[str | list[str]]:
    """Yield what the first ban of a clause is of."""
    match = language.search("ban", clause)
    if match is None or (_HAPPENS.search(clause[: match.start()]) and match.group().startswith("without")):
        return
    target = _find_target(clause, match, language)
    if language.search("rest", target):
        return
    if named := find_paths(target):
        yield named
    elif match.groupdict().get("mere"):
        yield "everything"
    elif _PRONOUN.fullmatch(target.strip()) and (
        _speaks_of_tests(before) or language.search("tests", clause[: match.start()])
    ):
        yield "tests"
    elif language.search("tests", target):
        if not _find_rest(language.compile("tests").sub(" ", target), language):
            yield "tests"
    elif not _find_rest(target, language):
        yield "everything"


def _find_target(clause: str, match: re.Match[str], language: Language) -> str:
    """Return the words of a clause that say what a ban is of: those where its form has them.

    A ban's named groups say where: `inner` within it and after it, `final` before it and within it, `closed` within
    it, `passive` before it; without one they are after it, in Japanese before it.
    """
    form, inner = next(
        ((name.rstrip("0123456789"), text) for name, text in match.groupdict().items() if text is not None),
        ("", ""),
    )
    before, after = clause[: match.start()], clause[match.end() :]
    if not form and language.name == "Japanese":
        form = "passive"
    return {
        "inner": f"{inner} {after}",
        "final": f"{before} {inner}",
        "closed": inner,
        "passive": before,
    }.get(form, after)


def _find_rest(text: str, language: Language) -> str:
    """Return what a text says beside paths, filling words and words for everything."""
    bare = re.sub(r"\s+", " ", remove_paths(text))
    for name in ("filler", "everything"):
        pattern = getattr(language, name)
        spaced = language.has_words
        bare = re.sub(
            rf"\b{pattern}\b" if spaced and name == "everything" else pattern, " ", bare, flags=re.IGNORECASE
        )
    return re.sub(r"[\W_]+|\b(?:or|and|ou|und|oder|y|o|et|nor)\b", "", bare)


def _list_only_paths(text: str) -> Iterator[str]:
    for match in _SENTENCE.finditer(text):
        sentence = match.group()
        if found := _ONLY.search(sentence):
            yield from find_paths(sentence[found.start() :])
            continue
        for language in list_languages(sentence):
            if found := language.search("only", sentence):
                spaced = language.has_words
                yield from find_paths(sentence[found.start() :] if spaced else sentence)
                break


def _speaks_of_tests(text: str) -> bool:
    """Return whether tests, and no code, are the subject of the sentence at the end of a text."""
    subject = _ABOUT_TESTS.search(text)
    return subject is not None and not _OF_CODE.search(subject["rest"])
