"""Network access of commands: host rules, proxy, tunnels and network namespaces."""
