"""What a prompt says of a commit: that one is wanted, or that none may be made.

A commit of git's is meant, by the agent. Sentences about code that commits ("save() must not commit", "the transaction
is not committed", "commit hooks fail") have another subject or object, and say neither.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent.prompt.english_orders import strip_courtesy
from agent.prompt.english_work import NO_GIT, orders_commit
from agent.prompt.languages import list_languages
from agent.prompt.prompt_text import split_clauses
from sandbox.lazy_pattern import compile_lazily

_OBJECT_OF_BAN = (
    NO_GIT
    + r"(?=\s*(?:$|\.(?:\s|$)|[,;:!?()\n—–-]|(?:it|this|that|them|anything|something|everything|changes?|yet"
    r"|for now|please|until|unless|or|and|but|automatically|at|now|before|just|so|to|me|on|while|i|code|today"
    r"|myself|yourself|afterwards|after|by|either|any of)\b"
    r"|(?:the|my|your|any|these|those|all)\s+(?:\w+\s+)?(?:changes?|work|fix|edits?|code|results?|files?|stuff"
    r"|modifications?|patch)\b))"
)
_CHANGES = (
    r"(?:it|this|that|they|these|those|nothing|anything"
    r"|(?:the |your |my |any |these )?(?:changes?|work|edits?|results?|fix(?:es)?|patch(?:es)?))"
)
_NOT_TO_MEMORY = r"(?!\s+to\b(?!\s+(?:git|main|master|the (?:repo\w*|branch|history))\b))"
_ENDS = (
    r"(?=\s*(?:$|[.,;:!?()\n—–-]|(?:please|yet|for now|until|unless|this time|but|and|or|thanks|at all)\b))"
)
_TO_US = (
    r"(?:(?<![a-zé)] )|(?<=mais )|(?<=\bet )|(?<=surtout )|(?<=merci de )|(?<=pla[iî]t )|(?<=stp )|(?<=svp ))"
)
"""Before a French "ne": it has no subject, so that the verb after it is an order."""
_FORBIDDEN = compile_lazily(
    # English
    r"\b(?:do not|don't|dont|do n't|never|not to|please not|no need to|avoid|refrain from|hold off(?: on)?"
    r"|(?:mind|rather|prefer|consider) not|without"
    r"|(?:^|(?<=[.,;:!?(\n] )|(?<=\byou )|(?<=\bwe )|(?<=\band )|(?<=\bbut )|(?<=\bplease ))"
    r"(?:must not|mustn't|should not|shouldn't))"
    rf"\s+(?:\w+\s+){{0,2}}?(?:git[ -])?commit(?:t?ing|s)?\b{_OBJECT_OF_BAN}"
    r"|\b(?:do not|don't|dont|never)\s+(?:\w+\s+(?:or|and)\s+|(?:make|create|add|do|perform)\s+(?:any|an?|the)\s+"
    r"(?:\w+\s+)?)commits?\b"
    rf"|\bno (?:git )?commits?\b{_ENDS}|\bcommit nothing\b"
    rf"|\b{_CHANGES} (?:must|should|shall|may|can|is to|are to)(?:n't| not) (?:be|get) committed\b{_NOT_TO_MEMORY}"
    rf"|\b(?:want|need|prefer|like)\b[^.,;!?\n]{{0,20}}\bnot (?:to be )?committed\b"
    rf"|\bnothing (?:must|should|shall|may|is to) (?:be|get) committed\b{_NOT_TO_MEMORY}"
    r"|\b(?:leave|keep|stay)\b[^.!?\n]{0,40}\buncommitted\b|\buncommitted,? please\b|\bskip (?:the |any )?commit\b"
    r"|\bi(?:'ll| will| want to|'d like to| would like to|'d rather| would rather|'m going to)\s+(?:\w+\s+){0,3}?"
    rf"(?:commit\b(?!\s+(?:messages?|hooks?)\b){NO_GIT})"
    r"|\blet me (?:do the )?commit\b|\bleave (?:the )?commit(?:s|ting)? to me\b"
    r"|\bwithout (?:making |creating )?(?:an?|any) commits?\b|\b(?:hold|stop)\b[^.!?\n]{0,20}\bcommits?\b"
    # German
    r"|\b(?:nicht|nichts|noch nicht|ohne(?: zu)?|niemals)\s+(?:\w+\s+){0,2}?(?:zu\s+)?(?:committ?e?n?|einchecken"
    r"|committet)\b(?<!wird nicht committet)(?<!werden nicht committet)(?<!wurde nicht committet)"
    r"(?<!ist nicht committet)(?<!wird nichts committet)"
    r"|\bcommitt?e?n?\b[^.,;!?\n]{0,25}\b(?:nicht|nichts|noch nicht)\b"
    r"|\b(?:kein(?:en|e)?|ohne)\s+(?:\w+\s+)?commits?\b(?=\s*(?:$|[.,;:!?()\n—–-]|(?:bitte|machen|erstellen|anlegen"
    r"|durchführen|und|oder|aber|mehr)\b))|\bnicht\b[^.,;!?\n]{0,20}\beinchecken\b"
    r"|\bich\s+(?:\w+\s+){0,2}?committe\b|\bich (?:werde|will|möchte)\b[^.,;!?\n]{0,20}\bcommitten\b"
    # French
    rf"|{_TO_US}\b(?:ne|n')\s*(?:\w+\s+)?(?:commit\w*|fais\w*|faites|effectue\w*|crée\w*)\b[^.,;!?\n]{{0,20}}"
    r"\b(?:pas|aucun|jamais|rien)\b(?=[^.,;!?\n]*commit)"
    rf"|{_TO_US}\bne commit\w* (?:pas|rien|jamais)\b"
    r"|\b(?:il ne faut pas|ne (?:pas|rien|jamais)) (?:\w+ )?commit\w*|\bje (?:ferai|vais faire|fais) (?:\w+ )?commit\b"
    r"|\bje (?:vais )?commit\w*|\b(?:sans|pas de|aucun)\s+(?:\w+\s+){0,2}?commit\w*"
    # Spanish
    r"|\b(?:no|sin|nunca|ningún)\s+(?:(?!hace\b|hacen\b|hizo\b|hará\b|hacía\b)\w+\s+){0,2}?"
    r"(?:commit\w*|comitees|comitear)\b|\bno (?:l[oa]s? )?confirmes\b|\bsin confirmar\b"
    # Chinese and Japanese
    r"|我(?:自己)?(?:会|来|要|再|之后|稍后)+(?:自己)?(?:去|来)?提交"
    r"|(?:不要|别|請勿|请勿|切勿|勿|不得|禁止|先不|无需|不需要|不必|不用|暂不|暂时不要|不)(?:再|去|做|进行|执行"
    r"|自动|创建|git|\s)*(?:提交|commit)(?!的|事务|表单|订单|数据|请求|后)"
    r"|(?<![A-Za-z0-9_)][がは])(?<![A-Za-z0-9_)] [がは])(?<![A-Za-z0-9_)] [がは] )"
    r"コミット(?:を|は|も)?"
    r"(?:し(?:ないで|ない(?!場合|問題|バグ)|なく|てはいけ)|せず|するな|すな|不要|なし|禁止|いらない|まだ|行わない|行わず"
    r"|しな(?!か))|コミットは(?:まだ|後で|自分で)",
    re.IGNORECASE,
)

_LATER = compile_lazily(
    rf"\b(?:and|then|now|please|finally|afterwards)\s+(?:git )?commit\b(?!\s*(?:\(|::|\.\w)){NO_GIT}"
    r"(?=\s*(?:$|[.,;:!?)\n]|(?:it|this|that|them|everything|the changes?|my changes?|your changes?|all|with|to)\b))"
    r"|\b(?:and|then|please)\s+(?:make|create|do)\s+(?:an?|the)\s+(?:\w+\s+)?commit\b(?!\s+(?:message|hook|log))",
    re.IGNORECASE,
)
_FOREIGN = compile_lazily(
    r"^(?:und |dann |bitte )*committe\b|\b(?:und|dann|bitte)\s+(?:\w+\s+){0,2}?committ?e?\w*\b(?!\s+wird)"
    r"|\b(?:mach\w*|erstell\w*)\s+(?:danach\s+|dann\s+)?(?:einen\s+)commit\b|^(?:bitte )?zu committen$"
    r"|^(?:bitte )?check\w*\b.{0,40}\bein$"
    r"|^(?:et|puis|ensuite)?\s*commit(?:e|ez|er|te|tez|ter)\b|\bfa(?:is|ites|ire)\s+(?:ensuite\s+)?un commit\b"
    r"|^ha(?:z|ga|cer)\s+(?:luego\s+|después\s+)?(?:un )?commit\b|\by\s+(?:haz\s+(?:un )?)?commit\w*"
    r"|^confirma\s+(?:mis|los|todos los|estos) cambios\b"
    r"|(?:并且?|然后|再|后|请|^)\s*(?:把[^，。]{1,20}?|将[^，。]{1,20}?)?(?:git\s*)?提交(?!表|订单|按钮|的|时|人|内容|失败|事务|后)"
    r"|(?:帮我|请你?)[^，。]{0,16}提交(?!表|订单|按钮|的|时|人|内容|失败|事务|后)"
    r"|コミット(?:して|を作(?!成された)|まで|もして|しておいて)(?!いな|い[るた])",
    re.IGNORECASE,
)


_ASKS_WHY = compile_lazily(
    r"\W*(?:(?:and|but|so|und|aber|et|mais|y|pero)\s+)?(?:why|how come|did|have|has|warum|wieso|weshalb"
    r"|pourquoi|por qué|为什么|为何|なぜ|なんで|どうして)",
    re.IGNORECASE,
)
_SENTENCE = compile_lazily(r"[^.!?;\n。！？；]+(?:\.(?=\w)[^.!?;\n。！？；]+)*")


def forbids_commit(text: str) -> bool:
    """Return whether a text, without its quotations, forbids a commit; the question why there is none does not."""
    sentences = (each.group() for each in _SENTENCE.finditer(text))
    return any(_FORBIDDEN.search(each) and not _ASKS_WHY.match(each) for each in sentences)


def asks_for_commit(text: str) -> bool:
    """Return whether a text that forbids no commit asks for one."""
    polite = [each.compile("polite") for each in list_languages(text)]
    return any(_orders_commit(clause, polite) for clause in split_clauses(text)) or bool(_LATER.search(text))


def _orders_commit(clause: str, polite: Sequence[re.Pattern[str]]) -> bool:
    """Return whether a clause orders a commit. polite: what may precede an order"""
    starts = [clause[match.end() :] for each in polite if (match := each.match(clause))]
    return orders_commit(strip_courtesy(clause)) or any(_FOREIGN.search(each) for each in (clause, *starts))
