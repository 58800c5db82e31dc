"""Commands about what users and projects add: agents, servers, plugins, prompts in files."""
