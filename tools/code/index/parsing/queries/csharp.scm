(comment) @prose
(string_literal_content) @prose
(using_directive) @import
