(line_comment) @prose
(block_comment) @prose
(string_content) @prose
(use_declaration) @import
(mod_item !body) @import
(const_item name: (identifier) @variable)
(static_item name: (identifier) @variable)
