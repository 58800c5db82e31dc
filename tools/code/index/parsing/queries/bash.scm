(comment) @prose
(raw_string) @prose
(string_content) @prose
(command name: (command_name) @_f (#any-of? @_f "source" ".")) @import
(program (variable_assignment name: (variable_name) @variable))
