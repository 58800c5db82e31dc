"""Common German, Spanish and French wordings: a few, so that what is not understood is asked about, not guessed."""

from __future__ import annotations

import re

FOREIGN_REPAIR = re.compile(
    r"\b(?:reparier\w*|behebe?n?|korrigier\w*|fixe|flick\w*)\b.*\b(?:tests?|test_\w+|fehler|bugs?|code|suite|\w+\.\w+)\b"
    r"|\b(?:tests?|test_\w+|fehler|bugs?)\b.*\b(?:reparieren|beheben|korrigieren|fixen)\b"
    r"|\bmach\w*\b.*\btests?\b.*\bgrün\b|\bbring\w*\b.*\btests?\b.*\b(?:grün|laufen)\b"
    r"|\b(?:arregl|repar|corrig|corrij)(?:a|e|ar|ir|as)\b.*\b(?:tests?|test_\w+|pruebas?|error(?:es)?|fallos?|bugs?|código)\b"
    r"|\bhaz que\b.*\bpas\w+\b.*\b(?:tests?|pruebas?)\b|\bhaz que\b.*\b(?:tests?|pruebas?)\b.*\bpas\w+\b"
    r"|\b(?:répar|corrig)(?:e|ez|er)\b.*\b(?:tests?|test_\w+|bugs?|erreurs?|code)\b"
    r"|\bfa(?:is|ites)\b.*\bpasser\b.*\btests?\b",
    re.IGNORECASE,
)

FOREIGN_QUESTION = re.compile(
    r"(?:^|[.,;:!¿]\s*)(?:bitte\s+|por favor\s+)?(?:"
    r"warum|wieso|weshalb|welche[rsn]?|wo|wie|wer|wann|was|erklär\w*|zeig\w*|sag mir|kannst du mir (?:sagen|erklären)"
    r"|ist|sind|läuft|laufen"
    r"|por qu[eé]|qu[eé]|dónde|donde|cuál(?:es)?|cómo|quién|expl[ií]ca\w*|muéstra\w*|dime"
    r"|pourquoi|qu'est-ce|que|quels?|quelles?|où|comment|qui|expliqu\w+|montr\w+|dis-moi|est-ce"
    r")(?=[\s-]).*",
    re.IGNORECASE,
)
"""A wish to repair is looked for only where no question is found."""

FOREIGN_NO_CHANGE = re.compile(
    r"\b(?:ändere|verändere|änder|repariere|schreibe?) (?:\w+ )?(?:nichts|nicht|keine)\b"
    r"|\bnichts ändern\b|\bohne (?:etwas )?zu ändern\b"
    r"|\bno (?:cambies|modifiques|toques|edites|arregles|escribas)\b|\bsin (?:cambiar|modificar|tocar)\b"
    r"|\bne (?:change|changez|modifie|modifiez|touche|touchez|corrige)\b"
    r"|\bsans (?:rien )?(?:changer|modifier|toucher)\b",
    re.IGNORECASE,
)

FOREIGN_WORK = re.compile(
    r"^(?:bitte |por favor )?(?:füge|erstelle|schreibe?|lösche|benenne|aktualisiere|ajoute|crée|écris|supprime|renomme"
    r"|añade|agrega|crea|escribe|elimina|borra|renombra|actualiza)\b",
    re.IGNORECASE,
)
