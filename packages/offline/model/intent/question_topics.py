"""Topic of a question, and the names that it asks about."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from agent.prompt.prompt_reader import read_intent
from agent.prompt.prompt_text import remove_quoted_text
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

Topic = Literal[
    "failing",  # which tests fail, or do they pass
    "why",  # why a test fails
    "fault",  # where the fault is likely
    "fix",  # which change would mend it
    "checks",  # what a test checks
    "defined",  # where a name is defined
    "used",  # where a name is used, who imports a file
    "calls",  # what a function calls, what a file imports
    "describe",  # what a function or a file is
    "tests-of",  # which tests cover something
    "changed",  # what changed, when, by whom
    "run-tests",  # how tests are run
    "overview",  # what the project is made of
    "words",  # where the code is that the words speak of
    "abilities",  # what the engine itself can do
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question about the workspace. names: of functions, classes, tests and files, the likeliest first"""

    topic: Topic
    text: str
    names: Sequence[str]


_TEST = r"(?:tests?|test_\w+|\w+_test|suite|specs?|ci|build|pytest|pruebas?)"
_FAILS = (
    r"(?:fail\w*|red|broken|crash\w*|error\w*|schlägt|fehlschlägt|fehlschlagen|schlagen|falla\w*|fallan|échou\w*"
    r"|wrong|brok\w*|went wrong)"
)
_FIX = r"(?:fix|repair|mend|solve|resolve|correct|patch|beheb\w*|reparier\w*|corriger|arregl\w*|réparer)"

_PATTERNS: Mapping[Topic, Sequence[str]] = {
    "abilities": (
        r"^(?:(?:hello|hi|hey|so|and|ok)[\s,.!]+)*(?:what|which (?:things|questions|tasks)|how) (?:else )?(?:can|could"
        r"|do|are) (?:you|patchwright)(?: able to)?(?: do| help| answer| offer| work on)?"
        r"(?: (?:me|us|for me|for us|here|with|in general|without a model|with this (?:project|repo\w*)))*$",
        r"^(?:help(?: me)?|what now|how does this work|how do i use (?:you|this|patchwright)|(?:who|what) are you)$",
        r"^(?:hello|hi|hey|hallo|hola|bonjour|good (?:morning|afternoon|evening))(?:[\s,]+(?:there|patchwright))?$",
        r"^was kannst du(?: (?:alles|tun|machen|für mich))*$",
        r"^(?:que peux-tu faire|que sais-tu faire|qué puedes hacer)$",
        r"^(?:你能做什么|你可以做什么|何ができますか?)$",
    ),
    "run-tests": (
        r"\bhow (?:do|can|should|would|are|is) (?:(?:i|we|you|one|the|a|all|single|my|our)\s+)*(?:run"
        r"|start|execute|launch|<TEST>)\b.*?\b(?:<TEST>|run|started|executed|launched)\b",
        r"\b(?:command|way|line) (?:for|to (?:run|start)) (?:the |all )?tests?\b",
        r"\btest (?:command|runner|framework)\b",
        r"\bhow to (?:run|start|execute)\b.*\btests?\b",
        r"\bwie (?:starte|führe)\b.*\btests?\b",
    ),
    "tests-of": (
        r"\b(?:which|what) (?:unit )?tests (?:cover|exercise|test|check|touch|run|exist|belong|use|are"
        r" there)\b",
        r"\bwhere (?:are|is) the tests? (?:for|of|file)\b",
        r"\bis (?:the |\w+ )*?[\w./]+ (?:tested|covered)\b",
        r"\b(?:does|do) .+ have (?:any )?tests?\b",
        r"\btests? (?:for|of) (?!this|the project)[\w./`]+\s*$",
        r"\bfind (?:the )?tests? (?:for|of)\b",
    ),
    "changed": (
        r"\bwhat(?:'s| has| have| did)?(?: i| you| we| was| were| been)? (?:recently |just )?chang(?:e"
        r"|ed)\b",
        r"\bchanged (?:recently|last|since|in)\b",
        r"\b(?:last|latest|recent|previous) (?:commits?|changes?)\b",
        r"\bwho (?:last )?(?:wrote|changed|edited|added|broke|<FIX>ed|fixed|committed|touched)\b",
        r"\bwhen (?:was|were|did)\b",
        r"\buncommitted\b",
        r"\bgit (?:log|history|status|diff|blame)\b",
        r"\bwhich commit\b",
        r"\b(?:did|have) you (?:<FIX>|change|edit)\w*\b",
        r"\b(?:was|were|been) \S+ (?:fixed|changed|repaired)\b",
        r"\bhistory of\b",
        r"\bwhy did you\b",
        r"\bin the last commit\b",
        r"\bwas hat sich geändert\b",
        r"\bqué (?:ha )?cambi\w+\b",
        r"\bqu'est-ce qui a changé\b",
    ),
    "fix": (
        r"\b(?:how|what)\b[^.?!]*\b(?:<FIX>|<FIX>ed|mended|behebe)\b",
        r"\bshould (?:i|we|you) <FIX>\b",
        r"\b(?:suggest|propose|show(?: me)?)\b[^.?!]*\b(?:fix|repair|change|patch|solution)\b(?! of\b)",
        r"\b(?:can|could) (?:this|that|it|the \w+|\S+) be (?:<FIX>ed|fixed|repaired)\b",
        r"\bneeds? (?:to be <FIX>\w*|fixing)\b",
        r"\bhard to <FIX>\b",
        r"\bhow to <FIX>\b",
        r"\bneed to <FIX>\b",
        r"\bshould be <FIX>\w*\b",
        r"\bso that\b.*\bpass\w*\b",
        r"\b(?:how|what)\b[^.?!]*\bmake\b[^.?!]*\b(?:pass|green|work)\b",
        r"\b(?:wie|cómo|comment)\b.*<FIX>",
        r"\b(?:before|if) (?:you|i|we) <FIX>\b",
    ),
    "fault": (
        r"\b(?:where|which (?:line|function|file|method|code|part)|what line|locate|point|find)"
        r"\b[^.?!]*\b(?:bug|fault\w*|errors?|blame|culprit|suspicious|defect|mistake|problem|causes?"
        r"|wrong|broken|fix)\b",
        r"\bsuspicious\b",
        r"\b(?:bug|fault|error)s? (?:likely|located)\b",
        r"\bfaulty\b",
        r"\bwo ist der fehler\b",
    ),
    "why": (
        r"\b(?:why|how come|warum|wieso|weshalb|por qué|pourquoi|reason|cause\w*|causing|diagnose)"
        r"\b.*\b<FAILS>\b",
        r"\b<FAILS>\b.*\b(?:why|reason|cause|pourquoi|warum)\b",
        r"\bwhat(?:'s| is| was| went)? (?:so )?(?:wrong|broken)\b",
        r"\bwhat makes?\b.*\b<FAILS>\b",
        r"\b(?:explain|analy[sz]e|diagnose|understand)\b.*\b<FAILS>\b",
        r"\bwtf is\b",
        r"\b(?:why|diagnose|reason)\b.*\b<TEST>\b",
    ),
    "checks": (
        r"\b(?:what|describe|explain|which)\b.*\b(?:test_\w+|tests?\b\S*|\w+_test\b\S*|Test[A-Z]\w*)"
        r"\b.*\b(?:check|test|assert|verif|expect|cover|prove|about|purpose|supposed|do|ensure|mean)\w*",
        r"\b(?:what|which)\b.*\b(?:checks?|asserts?|verif\w+|expects?|purpose|about)\b.*\b(?:test_\w+"
        r"|tests?\b\S*)",
        r"\b(?:explain|describe|walk me through|summari[sz]e|understand|show me|show|tell me about)"
        r"\b[^.?!]*\b(?:test_\w+|tests/\S+|\w+_test\b)",
        r"\b(?:don't|do not|can't) (?:get|understand)\b.*\btest_\w+\b",
        r"\bpurpose of (?:the )?test\S*",
        r"\bwhat (?:does|do|is)\b.*\btest_\w+\b",
    ),
    "failing": (
        r"\b(?:which|what|any|how many|list|show|qué|quels|welche|count)\b.*\b<TEST>\b.*\b<FAILS>\b",
        r"\b(?:which|what|any|how many|list|show|is|are|anything|something|welche|qué|quels)"
        r"\b.*\b<FAILS>\b",
        r"\b<TEST>\b.*\b(?:pass\w*|green|red|ok|okay|fine|status|state|run|succeed|work)\b",
        r"\b(?:pass\w*|green|state|status|run|check|work)\b.*\b<TEST>\b",
        r"\bbreak (?:something|anything)\b",
    ),
    "used": (
        r"\b(?:used|uses|usages?|usage|references?|referenced|callers?|called|calling|depends? on"
        r"|imported|imports)\b(?!.*\bdoes\b.*\bimports?\b)",
        r"\bwho (?:calls|uses|imports)\b",
        r"\b(?:what|which \w+) (?:calls?|uses?|imports?|call|depend\w*)\b",
        r"\bwhere do (?:we|i|they) (?:call|use|import)\b",
        r"\bstill needed\b",
        r"\bwhat (?:would|will|could) break\b",
        r"\baffected by\b",
        r"\bwird .+ (?:benutzt|verwendet|aufgerufen)\b",
        r"\bse usa\b",
        r"\butilisée?\b",
    ),
    "calls": (
        r"\b(?:what|which \w+) (?:does|do) \S+ (?:call|use|import|depend on|need)\b",
        r"\bcallees?\b",
        r"\bwhat .+ imports?\b",
        r"\bdependencies of \S+",
    ),
    "overview": (
        r"\b(?:what|describe|explain|tell me about)\b.*\b(?:this|the) (?:project|repo\w*|code ?base"
        r"|program|application|package)\b",
        r"\boverview\b",
        r"\b(?:architecture|layout|organi[sz]ed|organi[sz]ation|structured)\b",
        r"\b(?:project|code|repo\w*|folder|directory|overall|general|its) structure\b",
        r"\bstructure of (?:this|the|my|our|your)\b",
        r"\bthe structure$",
        r"\bwhere (?:do|should) i start\b(?!.*bug)",
        r"\bwhat files\b",
        r"\blist (?:the |all )?files\b",
        r"\bwhat languages?\b",
        r"\bnew here\b",
        r"\bmain (?:parts|modules|components)\b",
        r"\bentry ?points?\b",
    ),
    "defined": (
        r"\b(?:defin\w+|declared?|implemented|definiert|definida|définie?)\b",
        r"\bwhere (?:is|are|does|do|can i find|can we find) (?:the )?(?:function |class |method |module "
        r"|type |file )?[`\w./:]+(?:\(\))?(?: (?:live|come from|sit|located))?\s*$",
        r"\b(?:what|which) (?:file|module) (?:is|has|contains|holds)\b",
        r"\bwhere (?:do|can) (?:i|we|you) find (?:the )?(?:\w+ )?[`\w./:]+\s*$",
        r"\bwo ist\b",
        r"\bdónde está\b",
        r"\boù est\b",
    ),
    "describe": (
        r"\bwhat (?:do|does|is|are|was|were)\b",
        r"\bwhat's\b",
        r"\b(?:explain|describe|summari[sz]e|outline|tell me about|document)\b",
        r"\bhow (?:do|does|is|are) (?:the )?(?:function |class |method )?[`\w./:]+ (?:work\w*|behave"
        r"|function|implemented)\b",
        r"\b(?:parameters|arguments|signature|returns?|docstring|methods|attributes|functions|classes)\b",
        r"\bshow (?:me )?",
        r"\b(?:understand|get)\b",
        r"\bwas (?:macht|ist)\b",
        r"\bqué (?:hace|es)\b",
        r"\bque fait\b",
        r"\bqu'est-ce que\b",
    ),
}
"""Wordings of each topic, in the order in which they are tried; <TEST>, <FAILS> and <FIX> stand for words of theirs."""


def _compile_wordings(wordings: Sequence[str]) -> re.Pattern[str]:
    text = "|".join(f"(?:{each})" for each in wordings)
    for mark, words in (("<TEST>", _TEST), ("<FAILS>", _FAILS), ("<FIX>", _FIX)):
        text = text.replace(mark, words)
    return re.compile(text, re.IGNORECASE | re.DOTALL)


_TOPICS = {topic: _compile_wordings(wordings) for topic, wordings in _PATTERNS.items()}

_NAMED = (
    compile_lazily(r"`([^`\n]+)`"),
    compile_lazily(r"(?<![\w/])((?:[\w.-]+/)*[\w-]+\.(?:py|pyi|js|jsx|ts|tsx|go|rs|java|c|h|cc|cpp|rb|php|kt|cs|toml|md|sql|sh)(?:::[\w:\[\]-]+)?)\b"),
    compile_lazily(r"(?<![\w/])((?:[\w.-]+/)+[\w.-]*\w)/?(?!\w)"),
    compile_lazily(r"\b(\w+(?:\.\w+)+|\w+(?:::\w+)+)\b"),
    compile_lazily(r"\b(test_\w+|\w+_test|\w*_\w+|[A-Za-z]\w*(?=\(\)))"),
    compile_lazily(r"\b([a-z]+[A-Z]\w*|[A-Z]\w*[a-z]\w*[A-Z]\w*)\b"),
    compile_lazily(
        r"(?=\b(?:function|class|method|module|constant|variable|type|definition of|callers of|callees of|usages of"
        r"|uses of|references to|signature of|purpose of|calls?|uses?|imports?|does|do|about|explain|describe"
        r"|defines?|find|is|are|understand|how|change|file|has|for|in|hace|macht|definida|définie|definiert"
        r"|where is|fait)\s+(?:the\s+|a\s+)?(?:function\s+|class\s+|method\s+|module\s+)?([A-Za-z_]\w*)\b)",
        re.IGNORECASE,
    ),
)  # fmt: skip
"""Forms of names, the surest first; the last one takes plain words after words that come before a name."""

_NO_NAMES = frozenset(
    re.findall(
        r"\w+",
        "a an the this that these those it its they them you i we he she my our your is are was were be been do "
        "does did not no to of for in on at by with from and or but if so what which who where when why how "
        "whether any all some there here please just me us function functions class classes method methods module "
        "file files code line lines test tests suite project repository repo program definition usages uses "
        "references callers callees signature purpose parameters arguments work works called used defined fail "
        "fails failing pass passes bug fault error build anything something nothing change changes changed last "
        "git log commit commits call calls use import imports have has can could would should will need needed "
        "find show explain describe tell understand about live lives one every each right now likely wrong broken "
        "red green supposed part command runner structure architecture still anywhere tested covered expected "
        "reason return returns get gets take takes yes no else more ok okay thanks hello hi ",
    )
)
"""Words of questions that are no names of code."""

_NEED_NAMES = frozenset({"describe", "defined", "used", "calls", "checks", "tests-of"})
_PROHIBITION = compile_lazily(
    r"[,;]?\s*\b(?:but\s+|and\s+|please\s+)*(?:do not|don't|dont|never|without)\s+"
    r"(?:chang|touch|edit|writ|fix|repair|apply|modify)\w*\b[^.?!,;\n]*[.!]*",
    re.IGNORECASE,
)
"""What must not be done says nothing about what is asked."""


def read_question(prompt: str) -> Question | None:
    """Return what a prompt asks; None if no topic fits and it has too few words to search for."""
    text = remove_quoted_text(prompt).strip()
    names = find_names(text)
    if read_intent(prompt).orders_repair:  # and nothing may be written
        return Question(topic="fix", text=text, names=names)
    bare = _PROHIBITION.sub("", text).strip().rstrip(" ?.!¿")
    open_topics = {topic: each for topic, each in _TOPICS.items() if names or topic not in _NEED_NAMES}
    topic = next((topic for topic, pattern in open_topics.items() if pattern.search(bare)), None)
    if topic is None and (len(_list_content_words(text)) >= 2 or names):
        topic = "describe" if names and is_sure_name(names[0]) else "words"
    return Question(topic=topic, text=text, names=names) if topic is not None else None


def asks_for_abilities(prompt: str) -> bool:
    """Return whether a prompt asks what the engine itself can do, or only greets it."""
    question = read_question(prompt)
    return question is not None and question.topic == "abilities"


def find_names(text: str) -> list[str]:
    """Return the names of code in a text, the surest first, each once."""
    found: dict[str, None] = {}
    for pattern in _NAMED:
        for match in pattern.finditer(text):
            name = match[1].strip().rstrip("().")
            if name and name.lower() not in _NO_NAMES and not any(name in other for other in found):
                found[name] = None
    return list(found)


def is_test_name(name: str) -> bool:
    """Return whether a name is one of a test, or of a file of tests."""
    last = re.split(r"[/:.]+", re.sub(r"\.\w+$", "", name) if "/" in name or name.endswith(".py") else name)[
        -1
    ]
    return bool(re.match(r"(?:test_|tests?$|Test[A-Z])|.*(?:_test|_spec|Tests?)$", last)) or "tests/" in name


def is_sure_name(name: str) -> bool:
    """Return whether a name looks like one of code whatever stands around it: `a_b`, `A.b`, `aB`, a path."""
    return bool(re.search(r"[_./:]|[a-z][A-Z]", name))


def _list_content_words(text: str) -> list[str]:
    words = re.findall(r"[^\W\d_]{3,}", text.lower())
    return [word for word in words if word not in _NO_NAMES]
