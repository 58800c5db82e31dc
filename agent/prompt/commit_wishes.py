"""What a prompt says of a commit: that one is wanted, or that none may be made."""

from __future__ import annotations

import re

from sandbox.lazy_pattern import compile_lazily

_FORBIDDEN = compile_lazily(
    # English
    r"\b(?:do not|don't|dont|do n't|never|must not|mustn't|should not|shouldn't|not to|please not|no need to"
    r"|avoid|refrain from|hold off(?: on)?"
    r"|without)\s+(?:\w+\s+){0,2}?(?:git[ -])?commit(?:t?ing|s)?\b"
    r"(?=\s*(?:$|\.(?:\s|$)|[,;:!?()\n—–-]|(?:it|this|that|them|anything|something|changes?|yet|for now"
    r"|please|until|unless|or|and|but|automatically"
    r"|at|now|before|just|so|to|me|on|while|i|code|today|myself|yourself|afterwards|after|by|either|any of)\b"
    r"|(?:the|my|your|any|these|those|all)\s+(?:\w+\s+)?(?:changes?|work|fix|edits?|code|results?|files?"
    r"|stuff|modifications?|patch)\b))"
    r"|\b(?:do not|don't|dont|never)\s+(?:\w+\s+(?:or|and)\s+|(?:make|create|add|do|perform)\s+(?:any|an?"
    r"|the)\s+(?:\w+\s+)?)commits?\b"
    r"|\bno (?:git )?commits?\b|\bnot (?:be |get )?committed\b|\bcommit nothing\b|\b(?:leave|keep"
    r"|stay)\b[^.!?\n]{0,40}\buncommitted\b|\buncommitted,? please\b"
    r"|\bskip (?:the |any )?commit\b|\bi(?:'ll| will| want to|'d like to| would like to"
    r"|'m going to)\s+(?:do the |make the )?commit\b"
    r"|\blet me (?:do the )?commit\b|\bwithout (?:making |creating )?(?:an?|any) commits?\b|\b(?:hold"
    r"|stop)\b[^.!?\n]{0,20}\bcommits?\b"
    # German
    r"|\b(?:nicht|nichts|noch nicht|ohne(?: zu)?|niemals)\s+(?:\w+\s+){0,2}?(?:zu\s+)?(?:committ?e?n?"
    r"|einchecken|committet)\b"
    r"|\bcommitt?e?n?\b[^.,;!?\n]{0,25}\b(?:nicht|nichts|noch nicht)\b|\b(?:kein(?:en|e)?"
    r"|ohne)\s+(?:\w+\s+)?commits?\b|\bnicht\b[^.,;!?\n]{0,20}\beinchecken\b"
    # French
    r"|\b(?:ne|n')\s*(?:\w+\s+)?(?:commit\w*|fais\w*|faites|effectue\w*|crée\w*)\b[^.,;!?\n]{0,20}\b(?:pas"
    r"|aucun|jamais|rien)\b(?=[^.,;!?\n]*commit)"
    r"|\bne (?:pas|rien|jamais) (?:\w+ )?commit\w*|\bne commit\w* (?:pas|rien|jamais)\b|\b(?:sans|pas de"
    r"|aucun)\s+(?:\w+\s+){0,2}?commit\w*"
    # Spanish
    r"|\b(?:no|sin|nunca|ningún)\s+(?:\w+\s+){0,2}?(?:commit\w*|comitees|comitear)\b"
    r"|\bno (?:l[oa]s? )?confirmes\b|\bsin confirmar\b"
    # Chinese and Japanese
    r"|(?:不要|别|請勿|请勿|切勿|勿|不得|禁止|先不|无需|不需要|不必|不用|暂不|暂时不要|不)(?:再|去|做|进行"
    r"|执行|自动|创建|git|\s)*(?:提交|commit)(?!的)"
    r"|コミット(?:を|は|も)?(?:し(?:ないで|ない|なく|てはいけ)|せず|するな|すな|不要|なし|禁止|いらない|まだ"
    r"|行わない|行わず|しな)|コミットは(?:まだ|後で|自分で)",
    re.IGNORECASE,
)
_WANTED = compile_lazily(
    r"(?:^|[.,;!?:\n]\s*|\b(?:and|then|now|just|please|to|also|finally|you|afterwards)\s+)(?:git )?commit\b"
    r"(?!\s+(?:messages?|hooks?|hash(?:es)?|history|log|style|that|which|is|was|templates?"
    r"|parsing)\b)(?!\s*(?:\?|::|\(|\.\w))"
    r"|\b(?:make|create|do)\s+(?:an?|the)\s+(?:\w+\s+)?commit\b(?!\s+(?:message|hook|log))"
    r"|\b(?:und|dann|bitte)\s+(?:\w+\s+){0,2}?committ?e?\w*\b|^committ?e\b|\b(?:mach\w*"
    r"|erstell\w*)\s+(?:danach\s+|dann\s+)?(?:einen\s+)commit\b"
    r"|\b(?:et|puis|ensuite)\s+commit\w*|\bfa(?:is|ites|ire)\s+(?:ensuite\s+)?un commit\b|^commite[rz]?\b"
    r"|\bha(?:z|ga)\s+(?:luego\s+|después\s+)?(?:un )?commit\b|\by\s+(?:haz\s+(?:un )?)?commit\w*"
    r"|\bconfirma los cambios\b"
    r"|(?:并且?|然后|再|后|请|，|,|^)\s*(?:git\s*)?提交(?!表|者|按钮|的|时|人|内容|失败)|提交(?:更改|代码"
    r"|改动|修改|变更|到)"
    r"|コミット(?:して|を作|まで|も|しておいて)(?!いな)",
    re.IGNORECASE | re.MULTILINE,
)


def forbids_commit(text: str) -> bool:
    """Return whether a text, without its quotations, forbids a commit."""
    return bool(_FORBIDDEN.search(text))


def asks_for_commit(text: str) -> bool:
    """Return whether a text that forbids no commit asks for one."""
    return bool(_WANTED.search(text))
