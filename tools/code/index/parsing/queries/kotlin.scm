(line_comment) @prose
(block_comment) @prose
(string_content) @prose
(import) @import
