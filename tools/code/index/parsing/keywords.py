"""Keywords, which look like names: counted as such they would make every file a user of every other."""

from __future__ import annotations

import keyword
from collections.abc import Mapping

_WORDS = {
    "c": (
        "auto break case char const continue default do double else enum extern float for goto if inline "
        "int long register return short signed sizeof static struct switch typedef union unsigned void "
        "volatile while"
    ),
    "cpp": (
        "auto bool break case catch char class const constexpr continue decltype default delete do double "
        "else enum explicit extern false float for friend goto if inline int long mutable namespace new "
        "noexcept nullptr operator override private protected public register return short signed sizeof "
        "static static_cast struct switch template this throw true try typedef typename union unsigned "
        "using virtual void volatile while"
    ),
    "javascript": (
        "async await break case catch class const continue debugger default delete do else export extends "
        "false finally for from function if import in instanceof let new null of return static super switch "
        "this throw true try typeof undefined var void while with yield"
    ),
    "typescript": (
        "abstract any as async await boolean break case catch class const continue debugger declare default "
        "delete do else enum export extends false finally for from function if implements import in "
        "instanceof interface keyof let namespace never new null number of private protected public "
        "readonly return static string super switch this throw true try type typeof undefined unknown var "
        "void while with yield"
    ),
    "tsx": (
        "abstract any as async await boolean break case catch class const continue debugger declare default "
        "delete do else enum export extends false finally for from function if implements import in "
        "instanceof interface keyof let namespace never new null number of private protected public "
        "readonly return static string super switch this throw true try type typeof undefined unknown var "
        "void while with yield"
    ),
    "java": (
        "abstract assert boolean break byte case catch char class const continue default do double else "
        "enum extends false final finally float for if implements import instanceof int interface long "
        "native new null package private protected public return short static super switch synchronized "
        "this throw throws transient true try void volatile while"
    ),
    "csharp": (
        "abstract as assert async await base bool boolean break byte case catch char class const continue "
        "decimal default delegate do double else enum event extends false final finally float for foreach "
        "get if implements import in instanceof int interface internal is lock long namespace native new "
        "null object operator out override package params private protected public readonly ref return "
        "sealed set short static string struct super switch synchronized this throw throws transient true "
        "try typeof using var virtual void volatile while"
    ),
    "kotlin": (
        "as break class companion continue data do else false for fun if import in interface internal is "
        "null object open override package private protected public return super suspend this throw true "
        "try typealias val var when while"
    ),
    "go": (
        "break case chan const continue default defer else fallthrough false for func go goto if import "
        "interface map nil package range return select struct switch true type var"
    ),
    "rust": (
        "Self as async await break const continue crate dyn else enum extern false fn for if impl in let "
        "loop match mod move mut pub ref return self static struct super trait true type unsafe use where "
        "while"
    ),
    "ruby": (
        "alias and begin break case class def defined do else elsif end ensure false for if in module next "
        "nil not or redo require rescue retry return self super then true undef unless until when while "
        "yield"
    ),
    "php": (
        "abstract and array as assert boolean break byte callable case catch char class clone const "
        "continue declare default do double echo else elseif empty endfor endforeach endif enum extends "
        "false final finally float fn for foreach function global if implements import include instanceof "
        "int interface isset list long namespace native new null or package parent print private protected "
        "public require return self short static super switch synchronized this throw throws trait "
        "transient true try unset use var void volatile while yield"
    ),
    "bash": ("case do done elif else esac fi for function if in select then time until while"),
    "swift": (
        "Any Self actor any as associatedtype async await borrowing break case catch class consuming continue "
        "convenience default defer deinit do dynamic else enum extension fallthrough false fileprivate final "
        "for func get guard if import in indirect infix init inout internal is isolated lazy let mutating nil "
        "nonisolated nonmutating open operator optional override postfix precedencegroup prefix private "
        "protocol public repeat required rethrows return self set some static struct subscript super switch "
        "throw throws true try typealias unowned var weak where while"
    ),
    "scala": (
        "abstract case catch class def derives do else enum export extends extension false final finally for "
        "forSome given if implicit import infix inline lazy match new null object opaque open override package "
        "private protected return sealed super then this throw trait transparent true try type using val var "
        "while with yield"
    ),
    "lua": (
        "and break do else elseif end false for function goto if in local nil not or repeat return self then "
        "true until while"
    ),
}

_SQL = (
    "add all alter analyze and any array as asc before after begin between bigint bool boolean by call cascade case "
    "cast char character check collate column commit conflict constraint create cross current current_date "
    "current_timestamp cursor database date datetime declare decimal default delete desc distinct do double drop "
    "each else elsif end enum except exception exclude execute exists explain extension fetch filter first float "
    "following for foreign from full function grant group having if ilike immutable in index inner inout insert int "
    "integer intersect interval into is join json jsonb key language last lateral left like limit loop materialized "
    "merge natural next no not notice nothing null numeric of offset on only or order out outer over owner partition "
    "perform plpgsql preceding precision primary procedure raise range real recursive references refresh rename "
    "replace restrict return returning returns revoke right role rollback row rows schema select sequence serial "
    "set setof smallint some sql stable strict table temp temporary text then time timestamp timestamptz to "
    "transaction trigger true false truncate type union unique unlogged update using uuid values varchar varying "
    "view volatile when where while window with without work zone"
)
"""Written in lower or upper case; a mixed-case word is a name."""

KEYWORDS: Mapping[str, frozenset[str]] = {
    "python": frozenset(keyword.kwlist) | {"self", "cls"},
    **{language: frozenset(words.split()) for language, words in _WORDS.items()},
    "sql": frozenset(_SQL.split()) | frozenset(_SQL.upper().split()),
}
"""By the name of the language."""
