"""Jobs of small models, measured with a real one."""
