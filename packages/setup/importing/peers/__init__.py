"""Agents whose files are read by one table: Cursor, Copilot CLI, opencode, Goose, Crush, Qwen Code, Kimi, Vibe, Amp."""
