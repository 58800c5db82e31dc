"""Demands are found in many languages, and what demands nothing is not taken for one."""

from __future__ import annotations

import pytest

from agent.context.ledger.session_facts import Facts
from agent.context.ledger.user_constraints import find_demand_cue, split_sentences
from agent.events import Prompt, Steer

DEMANDS = {
    "English": ["You must not touch vendor/.", "Keep the API as it is."],
    "German": [
        "Fass vendor/ bitte nicht an.",
        "Die Schnittstelle muss bleiben, wie sie ist.",
        "Ändere nur cart.py!",
    ],
    "French": [
        "Ne touche pas à vendor/.",
        "Il faut garder l'API telle quelle.",
        "Utilisez uniquement la bibliothèque",
    ],
    "Spanish": ["No toques vendor/.", "La API debe quedar como está.", "Hazlo sin dependencias nuevas."],
    "Portuguese": ["Não mexa em vendor/.", "A API deve ficar como está."],
    "Italian": [
        "Non toccare vendor/.",
        "Usa soltanto la libreria standard.",
        "Fallo senza nuove dipendenze.",
    ],
    "Russian": ["Не трогай vendor/.", "Интерфейс должен остаться прежним."],
    "Chinese": ["不要修改vendor目录。", "必须保持接口不变", "只能使用标准库。"],
    "Japanese": ["vendorには触らないでください。", "APIは必ずそのままにすること。", "変更禁止。"],
    "Korean": ["vendor는 절대 수정하지 마세요.", "API는 반드시 유지해야 합니다."],
}

NONE = [
    "The report forgets a month.",
    "There is no test for the cart yet.",
    "The non-empty list is printed.",
    "It was solved for the USA last year.",
    "Der Bericht vergisst einen Monat.",
    "Le rapport oublie un mois.",
    "El informe olvida un mes.",
    "报告漏掉了一个月。",
    "レポートは一か月を忘れます。",
]


@pytest.mark.parametrize("language", DEMANDS)
def test_demands_of_a_language_become_constraints_to_the_letter(language: str) -> None:
    facts = Facts()
    for number, text in enumerate(DEMANDS[language], 1):
        facts.handle_event(Prompt(id=f"e{number}", text=f"cart.py:\n{text}"))
    assert list(facts.constraints) == DEMANDS[language]


@pytest.mark.parametrize("text", NONE)
def test_what_tells_how_things_are_demands_nothing(text: str) -> None:
    assert [each for each in split_sentences(text) if find_demand_cue(each) is not None] == []


def test_sentences_end_without_spaces_where_the_script_has_none() -> None:
    assert list(split_sentences("修复购物车。不要修改vendor目录。谢谢！")) == [
        "修复购物车。",
        "不要修改vendor目录。",
    ]


def test_only_people_demand_in_any_language() -> None:
    facts = Facts()
    for texts in DEMANDS.values():
        for text in texts:
            facts.handle_event(Steer(id="e1", text=text, by="harness"))
            facts.handle_event(
                Prompt(id="e2", text=f"look:\n<stdin>\n{text}\n</stdin>\n> {text}\n```\n{text}\n```")
            )
    assert facts.constraints == {}
