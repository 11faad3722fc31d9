#!/bin/sh
# The time (s) that ATCP spends in its loss state in one run (seed 1) with a mean delay of 50 ms a hop, and the time of the
# run's last event.
#
#     sh papers/liu-singh-2001/loss-state.sh FILE [--set KEY=VALUE]...
#
# For example: sh papers/liu-singh-2001/loss-state.sh figure-8.toml. DRIFTWAY is the program, if it is not on the path.
set -eu
[ $# -ge 1 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
driftway=${DRIFTWAY:-driftway} file=$1
shift
command -v "$driftway" > /dev/null || { echo "loss-state.sh: $driftway: not found; DRIFTWAY names it" >&2; exit 2; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$driftway" run "paper:liu-singh-2001/$file" --set flow.0.aid=atcp --set 'network.link.delay.mean=50 ms' "$@" --out "$dir" > "$dir/run.txt"
awk -F, '$2 == "aid-state" { if (state == "loss") loss += $1 - since; since = $1; state = $7 }
    END { printf "%.0f %.0f\n", loss, $1 }' "$dir/trace-seed-1-flow-0.csv"
