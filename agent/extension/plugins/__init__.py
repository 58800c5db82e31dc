"""Plugins: skills, agents, commands, hooks and servers of others in one folder, which the user added and trusts.

Formats: Agent Plugins 1.0.0 (agent-plugins.org), and Claude Code's (`.claude-plugin/plugin.json`).
"""
