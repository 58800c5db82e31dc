"""How histories are kept within a window: real runs, replayed step by step through several policies, without a model.

python -m benchmarks.context --data TRAJECTORIES.jsonl.xz [--single] [--windows 32000,64000,128000] [--sessions 40]
"""
