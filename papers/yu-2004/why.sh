#!/bin/sh
# The causes of a figure's results: three tables from the events of one run (seed 1) of each arm at 5 and 20 m/s.
#
#     sh papers/yu-2004/why.sh FIGURE ARM…
#
#     standby    how long TCP stood by, and how soon after it a timeout came
#     air        what the channel carried, in seconds of all nodes together
#     timeouts   what had happened to each segment that timed out, and to its acknowledgment
#
# For example: sh papers/yu-2004/why.sh 50-1 elfn paths. The events of both runs take up to 4 GB in TMPDIR for a while.
# DRIFTWAY is the program, if it is not on the path.
set -eu
[ $# -ge 2 ] || { sed -n '2,11s/^# \{0,1\}//p' "$0" >&2; exit 2; }
driftway=${DRIFTWAY:-driftway} here=$(dirname "$0") figure=$1
shift
command -v "$driftway" > /dev/null || { echo "why.sh: $driftway: not found; DRIFTWAY names it" >&2; exit 2; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for table in standby air timeouts; do
    awk -v header=1 -f "$here/why-$table.awk" > "$dir/$table"
done
# The tables of a run, in files of their own.
of_run() {
    out=$dir/$1.$2
    "$driftway" run "paper:yu-2004#$figure/$1/$2 m/s" --events --out "$out.run" > "$out.txt"
    for table in standby air timeouts; do
        awk -v name="$1, $2 m/s" -f "$here/why-$table.awk" "$out.run/events-seed-1.csv" > "$out.$table"
    done
    rm -r "$out.run"
}
for arm in "$@"; do
    of_run "$arm" 5 &
    slow=$!
    of_run "$arm" 20
    wait $slow
    for table in standby air timeouts; do
        cat "$dir/$arm.5.$table" "$dir/$arm.20.$table" >> "$dir/$table"
    done
done
echo "Figure $figure, seed 1"
for table in standby air timeouts; do
    echo
    cat "$dir/$table"
done
