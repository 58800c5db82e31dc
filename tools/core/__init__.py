"""The tool protocol: registry, gateway, workspace, actions and observations."""
