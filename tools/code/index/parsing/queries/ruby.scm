(comment) @prose
(string_content) @prose
(call method: (identifier) @_f arguments: (argument_list . (string)) (#any-of? @_f "require" "require_relative" "load" "autoload")) @import
(assignment left: (constant) @variable)
