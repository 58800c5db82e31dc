"""Work that the first words of an English order name: a change of files, a task that changes none, or neither."""

from __future__ import annotations

import re

from agent.prompt.prompt_intent import Kind
from agent.prompt.prompt_text import PATH, find_paths
from sandbox.lazy_pattern import compile_lazily

_NOT_NOTHING = r"(?!\s+(?:nothing|no\b|none|what|how|why|me (?:what|why|how)))"
_CHANGE = compile_lazily(
    r"(?:(?:add|implement|write|create|build|introduce|refactor|rename|delete|remove|upgrade|update|migrate"
    r"|document"
    r"|translate|convert|move|extract|optimi[sz]e|rewrite|port|skip|bump|generate|format|drop|replace|split"
    r"|merge"
    r"|simplify|speed up|clean up|clean|undo|revert|change|modify|edit|adapt|adjust|extend|improve|enable"
    r"|disable|insert"
    r"|append|prepend|wrap|inline|define|declare|register|annotate|rework|restructure|reorgani[sz]e"
    r"|comment out|uncomment"
    r"|increase|decrease|lower|raise|pin|swap|reorder|deduplicate|group|turn|set|put|use|switch|support(?! for)"
    r"|handle|allow"
    r"|prevent|expose|sort(?! order)|complete|port|redo|strip|hide|mark|bring back|get rid of|make use of"
    r"|initiali[sz]e"
    r"|parametri[sz]e|return(?!\s+(?:types?|values?|codes?|statements?|of)\b)|give(?!\s+(?:me|us)\b)"
    r"|do (?:the|a|some) \w+ing|(?:let|have)(?=\s+[\w.`()]+\s+(?:return|raise|take|accept|use|print|be|give"
    r"|yield|call|throw)\b)"
    r"|make sure(?!\s+(?:that\s+)?(?:i|you|we|nothing|everything|all|it|this)\b)"
    r"|make(?!\s+(?:me|us|sense|sure|an?\s+(?:list|summary|report|plan|overview|table|note)|test|check)\b|$)"
    r"|restore|throw|truncate|indent|reformat|tidy|modernize|harden|cover|test-drive|stub|mock|type-annotate"
    r"|cache)"
    r"(?=\s)(?!\s+(?:errors?|is|are|was|were|has|fails?|failed)\b)|i want an?|want an?|i need an?)"
    + _NOT_NOTHING,
    re.IGNORECASE,
)
"""Work that changes files, at the start of a part of a sentence."""
_TASK = compile_lazily(
    r"(?:push|install|deploy|release|publish|tag|stash|rebase|cherry-pick|execute|fetch|amend|squash"
    r"|run(?!\s+(?:me|us|through|into|by|over|out)\b)|start(?!\s+(?:by|with|from|at|over|off|again|\w+ing)\b)"
    r"|pull(?!\s+(?:up|out|apart|together|down)\b)|open\s+(?:an?\s+|the\s+|another\s+)?(?:\w+\s+)?(?:pull request"
    r"|merge request|pr|mr|issue|ticket)"
    r"|check ?out\s+(?:-b\s+)?(?:(?:the|a|another|my)\s+)?(?:\w+\s+)?(?:branch|main|master|develop|tag|commit"
    r"|\w+/[\w/-]+(?!\.))|create (?:an? )?(?:(?:new|git) )?(?:commit|branch|pull request|pr|tag|issue)"
    r"|make (?:an? )?commit"
    r"|migrate the database|switch branch\w*"
    r"|switch (?:back )?to (?:(?:the|my|a|another) )?(?:main|master|develop|\w+/\w+|(?:\w+ )?branch)\b"
    r"|merge (?:the )?(?:branch|main|master"
    r"|\w+/\w+))\b" + _NOT_NOTHING,
    re.IGNORECASE,
)
"""Work that leaves files as they are, or that no change of files proves."""
_PRODUCT = compile_lazily(
    r"(?:write|create|make|generate|build|draft|give|prepare|convert|translate|i (?:want|need) an?"
    r"|want an?)\b[^.?!\n]{0,40}?\b(?:summary|explanation"
    r"|report|list|plan|overview|poem|haiku|story|joke|description|answer|e-?mail|letter|review|comparison"
    r"|essay|reply|table of|mental model|diagram|sketch"
    r"|release notes|commit message|pr description|proposal|analysis|estimate|sentence|paragraph|miles"
    r"|text)\b",
    re.IGNORECASE,
)
"""What is written as an answer, unless a file is named for it."""
_NO_WORK = compile_lazily(
    r"(?:move on|add up|write down|put (?:simply|differently|yourself)|set aside|turn (?:by|to)\b"
    r"|update (?:me|us)\b|mark my|keep in mind"
    r"|(?:use|run|make use of|put)\b[^.?!\n]{0,60}?\bto (?:find|explain|show|list|tell|look|search|check|see|count"
    r"|describe|summari[sz]e|determine|analy[sz]e|answer|understand|explore|inspect|verify|compare)\b"
    r"|use\b[^.?!\n]{0,30}\b(?:words|bullet points|sentences?|english|language|judge?ment)\b"
    r"|mark\b[^.?!\n]{0,40}\b(?:where|which)\b|complete (?:this|the|my) (?:sentence|thought|phrase)"
    r"|translate\s+(?:to|into)\b"
    r"|(?:sort|order|rank|group)\s+(?:the |all |these |my )*(?:\w+ )?(?:files|folders|director(?:y|ies)|functions"
    r"|classes|methods|tests|modules|commits|branches|packages|authors)\s+(?:by|in order of|according to)\b"
    r"|(?:translate|convert)\s+(?:this|that|the)\s+(?:error|message|sentence|text|word|phrase|following|output)\b"
    r"|return (?:only |just )?(?:an? |the )?(?:list|json|table|names?|yes|number|count|answer|result|files)\b)",
    re.IGNORECASE,
)
"""What begins as work on files does, and asks for an answer, unless a file is named for it."""
_BUILD = compile_lazily(
    r"build (?:it|(?:the|this|our|my) (?:project|app\w*|package|image|binary|binaries|wheel|docs?|documentation"
    r"|container|release|extension|library|site))?\s*(?:again|now|first|please)?$",
    re.IGNORECASE,
)
"""A build leaves what git tracks as it is."""
NO_GIT = (
    r"(?!\s+(?:(?:the|a|an|this|that|any|my|each|all|its|their|pending|current|open|failed)\s+)*"
    r"(?:transactions?|txns?|sessions?|offsets?|cursors?|connections?|databases?|db|batch(?:es)?|records?|rows?"
    r"|savepoints?|buffers?|writes|drafts?|pages?|secrets?|generated|build|binary|large)\b)"
)
"""After "commit": it is of something else than the work on the prompt."""
_COMMIT = compile_lazily(
    r"(?:(?:stage|add|save|test|review|check|stage it|push)\s+(?:and|&)\s+)?(?:git )?(?:commit|check in)\b"
    rf"(?!\s*(?:\(|::|\.\w)){NO_GIT}"
    r"(?=\s*(?:$|[.,;:!?()\n—–]|&&)|\s+(?:-\w|(?:the|my|your|our|a|an|all|these|those|this|that|it|them|everything|anything|what"
    r"|whatever|any|each|both|with|to|on|as|using|once|if|when|after|and|now|please|only|just|afterwards|changes?"
    r"|work|here|too|again|under|into|in|separately|locally|immediately|directly|for|so)\b|\S*[/.]\w+))"
    r"|(?:make|create|do)\s+(?:an?|the)\s+(?:\w+\s+)?commit\b(?!\s+(?:message|hook|log|button|command|function))"
    r"|amend\s+(?:it|(?:the|my|your) (?:last |previous |latest )?commit)\b",
    re.IGNORECASE,
)
"""An order, at the start of a clause without its polite words."""
_STATEMENT = compile_lazily(
    r"(?!(?:make|ensure|let|have|want|need|see|check|verify|fix)\b)[a-z][\w-]*"
    r"(?:\s+(?!(?:a|an|the|my|our|your|this|these|those|all|every|each|any|some|it|them|both|that|which|if|when|so"
    r"|where|who|what|how|because|since|until|as|sure|why|whether|and|then)\b)[\w./()-]+){0,6}?"
    r"\s+(?:is|are|was|were|isn't|aren't|wasn't|weren't|does|doesn't|did not|didn't|has|hasn't|cannot"
    r"|(?:do not|don't) (?!commit|change|touch|modify|edit|push|run|break|use|add|create|delete|remove|write)\w+"
    r"|can't|won't|should|must|could|fail(?:s|ed)?|crash(?:es|ed)|hangs?|breaks?|broke|loses?|lost|ignores|throws"
    r"|disappears?|leaks|freezes|works|causes|overwrites|misses|duplicates|depends|hides|corrupts|shadows|blocks|shows"
    r"|(?<=\w\s)drops)\b",
    re.IGNORECASE,
)
"""A verb of work as the first noun of a statement, as in titles of reports: "Delete key does nothing"."""
_NOUN = compile_lazily(
    rf"(?:use|change|increase|decrease|drop|cache|release|split|merge|switch|update|request|access)s?\s+"
    rf"(?:of|between|in(?!\s+{PATH}))\s",
    re.IGNORECASE,
)
"""A verb of work as a noun: "Change in behaviour", "Use of a private name"."""


def orders_commit(text: str) -> bool:
    """Return whether a part of a sentence, without its polite words, orders a commit of git's."""
    return bool(_COMMIT.match(text))


def find_work(text: str) -> Kind | None:
    """Return the kind of work that a part of a sentence, which is no repair, orders with its first word; else None."""
    if _STATEMENT.match(text) or _NOUN.match(text):
        return None
    if (_PRODUCT.match(text) or _NO_WORK.match(text)) and not find_paths(text):
        return None
    if _TASK.match(text) or _BUILD.match(text) or _COMMIT.match(text):
        return "task"
    return "change" if _CHANGE.match(text) else None
