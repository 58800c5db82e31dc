import sys

sys.path.append(".")  # python3 -I looks there last, behind its own modules

from calendar_rules import is_leap

for year, leap in ((2024, True), (2000, True), (1900, False), (2023, False)):
    assert is_leap(year) is leap, year
