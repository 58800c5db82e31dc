"""Definition node types of each language's grammar, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType

from sandbox.lazy_dataclass import dataclass

NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The definitions of one grammar.

    kinds: kind of a symbol → node types that define one and have a field `name`
    patterns: queries for node types without that field, with the captures @name, @scope (the type of a method)
        and the kind; @container qualifies its contents and is no definition itself, @package is the package of
        the whole file
    wrappers: nodes around a definition that are part of it (`export`, `template <…>`)
    decorators: attributes and annotations, inside the definition or above it
    modifiers: nodes among whose children decorators are found
    """

    kinds: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    patterns: str = ""
    wrappers: frozenset[str] = frozenset()
    decorators: frozenset[str] = frozenset()
    modifiers: frozenset[str] = frozenset()


COMMENTS = frozenset({"comment", "line_comment", "block_comment", "multiline_comment"})
"""Comment nodes of all grammars."""

BLOCKS = frozenset({"block", "body_statement", "class_body", "declaration_list", "statement_block"})
"""Blocks whose first child's comment may precede the block."""

_JS_VALUES = "[(arrow_function) (function_expression) (generator_function)]"

_JS_PATTERNS = f"""
(variable_declarator name: (identifier) @name value: {_JS_VALUES}) @function
(variable_declarator name: (identifier) @name value: (class)) @class
(variable_declarator name: (identifier) @name value: (object)) @object
(pair key: (property_identifier) @name value: {_JS_VALUES}) @method
(assignment_expression left: (member_expression) @name right: {_JS_VALUES}) @function
(assignment_expression left: (member_expression) @name right: (class)) @class
"""

_JS_WRAPPERS = frozenset(
    {"export_statement", "lexical_declaration", "variable_declaration", "expression_statement"}
)

_JS = Shape(
    kinds={
        "class": "class_declaration",
        "function": "function_declaration generator_function_declaration",
        "method": "method_definition",
    },
    patterns=_JS_PATTERNS + f"(field_definition property: (_) @name value: {_JS_VALUES}) @method",
    wrappers=_JS_WRAPPERS,
    decorators=frozenset({"decorator"}),
)

_TS = Shape(
    kinds={
        "class": "class_declaration abstract_class_declaration",
        "interface": "interface_declaration",
        "enum": "enum_declaration",
        "type": "type_alias_declaration",
        "namespace": "internal_module",
        "function": "function_declaration generator_function_declaration function_signature",
        "method": "method_definition method_signature abstract_method_signature",
    },
    patterns=_JS_PATTERNS + f"(public_field_definition name: (_) @name value: {_JS_VALUES}) @method",
    wrappers=_JS_WRAPPERS | {"ambient_declaration"},
    decorators=frozenset({"decorator"}),
)

_C_PATTERNS = """
(function_definition declarator: (_) @name) @function
(struct_specifier name: (_) @name body: (_)) @struct
(union_specifier name: (_) @name body: (_)) @union
(enum_specifier name: (_) @name body: (_)) @enum
(type_definition type: (_ body: (_)) declarator: (type_identifier) @name) @type
(preproc_function_def name: (_) @name) @macro
"""

SHAPES: Mapping[str, Shape] = {
    "python": Shape(
        kinds={"class": "class_definition", "function": "function_definition"},
        wrappers=frozenset({"decorated_definition"}),
        decorators=frozenset({"decorator"}),
    ),
    "bash": Shape(kinds={"function": "function_definition"}),
    "javascript": _JS,
    "typescript": _TS,
    "tsx": _TS,
    "go": Shape(
        kinds={"function": "function_declaration", "type": "type_spec type_alias", "method": "method_elem"},
        patterns="""
        (method_declaration receiver: (parameter_list (parameter_declaration type: (_) @scope)) name: (_) @name) @method
        (package_clause (package_identifier) @package)
        """,
        wrappers=frozenset({"type_declaration"}),
    ),
    "rust": Shape(
        kinds={
            "function": "function_item function_signature_item",
            "struct": "struct_item",
            "enum": "enum_item",
            "union": "union_item",
            "trait": "trait_item",
            "module": "mod_item",
            "type": "type_item",
            "macro": "macro_definition",
        },
        patterns="(impl_item type: (_) @name) @container",
        decorators=frozenset({"attribute_item"}),
    ),
    "java": Shape(
        kinds={
            "class": "class_declaration record_declaration",
            "interface": "interface_declaration annotation_type_declaration",
            "enum": "enum_declaration",
            "method": "method_declaration constructor_declaration compact_constructor_declaration "
            "annotation_type_element_declaration",
        },
        patterns="(package_declaration (_) @package)",
        decorators=frozenset({"annotation", "marker_annotation"}),
        modifiers=frozenset({"modifiers"}),
    ),
    "c": Shape(patterns=_C_PATTERNS, wrappers=frozenset({"type_definition"})),
    "cpp": Shape(
        kinds={"namespace": "namespace_definition", "type": "alias_declaration"},
        patterns=_C_PATTERNS + "(class_specifier name: (_) @name body: (_)) @class",
        wrappers=frozenset({"type_definition", "template_declaration"}),
        decorators=frozenset({"attribute_declaration"}),
    ),
    "ruby": Shape(
        kinds={"class": "class", "module": "module", "method": "method singleton_method"},
        wrappers=frozenset({"argument_list", "call"}),  # private def …
    ),
    "csharp": Shape(
        kinds={
            "namespace": "namespace_declaration",
            "class": "class_declaration record_declaration",
            "struct": "struct_declaration",
            "interface": "interface_declaration",
            "enum": "enum_declaration",
            "type": "delegate_declaration",
            "method": "method_declaration constructor_declaration destructor_declaration",
            "property": "property_declaration",
            "function": "local_function_statement",
        },
        patterns="(file_scoped_namespace_declaration name: (_) @package)",
        wrappers=frozenset({"global_statement"}),
        decorators=frozenset({"attribute_list"}),
    ),
    "php": Shape(
        kinds={
            "class": "class_declaration",
            "interface": "interface_declaration",
            "trait": "trait_declaration",
            "enum": "enum_declaration",
            "function": "function_definition",
            "method": "method_declaration",
        },
        patterns="(namespace_definition name: (_) @package)",
        decorators=frozenset({"attribute_list"}),
    ),
    "kotlin": Shape(
        kinds={
            "class": "class_declaration",
            "object": "object_declaration companion_object",
            "function": "function_declaration",
        },
        patterns="(package_header (_) @package)",
        decorators=frozenset({"annotation"}),
        modifiers=frozenset({"modifiers"}),
    ),
    "swift": Shape(
        kinds={"type": "associatedtype_declaration"},
        patterns="""
        (class_declaration "class" name: (_) @name) @class
        (class_declaration "actor" name: (_) @name) @class
        (class_declaration "struct" name: (_) @name) @struct
        (class_declaration "enum" name: (_) @name) @enum
        (class_declaration "extension" name: (_) @name) @container
        (protocol_declaration name: (type_identifier) @name) @interface
        (function_declaration name: (simple_identifier) @name) @function
        (protocol_function_declaration name: (simple_identifier) @name) @function
        (init_declaration "init" @name) @method
        (deinit_declaration "deinit" @name) @method
        (subscript_declaration "subscript" @name) @method
        (property_declaration
          name: (pattern bound_identifier: (simple_identifier) @name) computed_value: (_)) @property
        (protocol_property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @property
        (typealias_declaration name: (type_identifier) @name) @type
        """,
        decorators=frozenset({"attribute"}),
        modifiers=frozenset({"modifiers"}),
    ),
    "scala": Shape(
        kinds={
            "class": "class_definition",
            "object": "object_definition package_object",
            "trait": "trait_definition",
            "enum": "enum_definition",
            "function": "function_definition function_declaration",
            "type": "type_definition",
            "given": "given_definition",
        },
        patterns="(package_clause name: (_) @package)",
        decorators=frozenset({"annotation"}),
    ),
    "lua": Shape(
        kinds={"function": "function_declaration"},
        patterns="""
        (assignment_statement
          (variable_list . name: (_) @name .) (expression_list . value: (function_definition) .)) @function
        (chunk (assignment_statement
          (variable_list . name: (_) @name .) (expression_list . value: (table_constructor) .)) @object)
        (chunk (variable_declaration (assignment_statement
          (variable_list . name: (_) @name .) (expression_list . value: (table_constructor) .)) @object))
        (field name: (identifier) @name value: (function_definition)) @function
        """,
        wrappers=frozenset({"variable_declaration"}),
    ),
}
"""By the language's name in `tools.code.languages`."""
