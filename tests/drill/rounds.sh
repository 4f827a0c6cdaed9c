#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# rounds.sh SCR: three rounds of scr drill with a fixed seed; its verdict is read as JSON.
set -euo pipefail
"$1" drill --rounds 3 --seed 7 --timeout 300 --json | python3 -c '
import json, sys
v = json.load(sys.stdin)
assert v["passed"] and v["fault"] is None and v["wrong"] == 0, v
assert v["seed"] == 7 and v["rounds"] == v["done"] == 3 and v["scheme"] == "XOR", v
assert v["unstruck"] == 0 and sum(v["restarts"].values()) == 3, v
assert sum(v["strikes"].values()) >= 3, v
assert v["slowest_restart"] > 0 and v["report"] is None, v
print(v)'
