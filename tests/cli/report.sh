#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # out, err and tmp are set by lib.sh
# scr_report: a log of two runs whose sums are known (tests/report/runs.log): the first one computes 100 s twice
# and 30 s that are lost with a node, the second one rebuilds and continues.
. "${0%/*}/lib.sh"
log=$SCR_TEST_SOURCE/tests/report/runs.log

# text
run scr_report --logfile "$log" --text
has 0 "efficiency 79.5 %: computing that was kept, of 8.4 min that runs took"
has 0 "computing, kept         6.7 min   79.5 %"
has 0 "computing, lost            30 s    6.0 %"
has 0 "waiting for flushes        30 s    6.0 %"
has 0 "idle between runs          20 s"
has 0 "cache               3    18.00 GiB     1.00 GiB/s"
has 0 "node     30 s lost, nodes n3: run 1 of job 4711 did not end"
has 0 "keep the interval: a checkpoint every 2.4 min is close to the best"
has 0 "damaged lines: 1 (they were passed over)"
has 0 "events of names that this version does not know: 1"

# JSON has the same numbers
run scr_report --logfile "$log" --json
has_status 0
cp "$out" report.json
cat >expected <<END
events 33, damaged 1
kept 400, checkpoint 30, output 0, flush 30, restart 13, lost 30, other 0, idle 20
wall 503, span 523, efficiency 0.795229
mtbf 503, cost 20, restart 6.5, interval 143.333
runs failed ended, walls 285 218, restarted None 2
datasets 1 2 3, kept in cache 0 1 1, flushed none done none
failure node n3 run 0 next 1 lost 30 at 1769861085
cache 3 1073741824, encode 3 1610612736, flush 1 214748364.8
END
python3 - >actual <<'END' || fail "report.json cannot be read"
import json
d = json.load(open("report.json", encoding="utf-8"))
o, f, log = d["optimum"], d["failures"][0], d["log"]
print(f"events {log['events']}, damaged {log['damaged']}")
print(", ".join(f"{k} {v:g}" for k, v in d["time"].items()))
print(f"wall {d['wall']:g}, span {d['span']:g}, efficiency {d['efficiency']:g}")
print(f"mtbf {o['mtbf']:g}, cost {o['cost']:g}, restart {o['restart']:g}, interval {o['interval']:g}")
print("runs", *[r["end"] for r in d["runs"]], end=", ")
print("walls", *[f"{r['wall']:g}" for r in d["runs"]], end=", ")
print("restarted", *[r["restarted"] for r in d["runs"]])
print("datasets", *[s["dset"] for s in d["datasets"]], end=", ")
print("kept in cache", *[1 - s["gone_cache"] for s in d["datasets"]], end=", ")
print("flushed", *[s["flushed"] for s in d["datasets"]])
print(f"failure {f['class']} {f['nodes']} run {f['run']} next {f['next']} lost {f['lost']:g} at {f['at']:.0f}")
print(", ".join(f"{v['level']} {v['n']} {v['median_rate']:.10g}" for v in d["levels"] if v["n"]))
END
cmp expected actual || fail "$(diff expected actual)"

# the page has that JSON, and nothing of the log in it is markup
run scr_report --logfile "$log"
is 0 scr_report.html
python3 - <<'END' || fail "the page does not have the JSON"
import json, re
page = open("scr_report.html", encoding="utf-8").read()
data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S).group(1)
a, b = json.loads(data), json.load(open("report.json", encoding="utf-8"))
a.pop("now"), b.pop("now")
assert a == b and "<" not in data
assert not re.search(r"(src|href)=[\"']?(https?:)?//", page)
END
run scr_report -l "$log" -o "$tmp/other.html"
is 0 "$tmp/other.html"
check "no other file" -s "$tmp/other.html"
run scr_report -l "$log" -o -
has 0 "<!DOCTYPE html>"
run scr_report -l "$log" --json -o some.json
is 0 some.json

# the log of a prefix directory, with its older part; none is an empty report
run scr_report --text
has 0 "$tmp: runs 0, datasets 0, failures 0"
mkdir -p .scr
head -n 12 "$log" >.scr/log.1
tail -n +13 "$log" >.scr/log
run scr_report --prefix "$tmp" --text
has 0 "efficiency 79.5 %"
run scr_report
is 0 scr_report.html

# logs of other things, cut at any byte, with bytes that are no text
size=$(wc -c <"$log")
for n in 1 500 1500 3000 $((size - 30)); do
    { tail -c "$n" "$log"; printf '\0\377\376{"time":\n[]\n{}\n'; } >odd
    run scr_report -l odd --json
    has 0 '"damaged":'
    run scr_report -l odd --text
    has 0 "damaged lines"
done
run scr_report -l /dev/null --text
[ "$status" -le 2 ] || fail "crashed"

run scr_report --logfile nowhere
fails 2 "nowhere: no such file or directory"
run scr_report -l "$log" -o nowhere/report.html
fails 2 "no such file or directory"
run scr_report --text --json
fails 2 "--text"
common scr_report -l "$log" --text
