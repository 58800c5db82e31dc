"""Takes over what users set up for another coding agent: settings, rules, servers, commands, agents, skills, hooks."""
