(comment) @prose
(string_content) @prose
(namespace_use_declaration) @import
(require_once_expression) @import
(require_expression) @import
(include_once_expression) @import
(include_expression) @import
(const_element (name) @variable)
