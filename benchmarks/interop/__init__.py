"""What others wrote, here: settings, hooks, plugins, replies and forms of other programs, as they mean it there.

python -m benchmarks.interop [--format NAME …] [--output FILE] [--newest] [--plugins OWNER/NAME …]
"""
