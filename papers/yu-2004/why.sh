#!/bin/sh
# The causes of a figure's results: three tables from the events of one run (seed 1) of each arm at both ends
# of the figure's axis, such as 5 and 20 m/s.
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
[ $# -ge 2 ] || { sed -n '2,12s/^# \{0,1\}//p' "$0" >&2; exit 2; }
driftway=${DRIFTWAY:-driftway} here=$(dirname "$0") figure=$1
shift
command -v "$driftway" > /dev/null || { echo "why.sh: $driftway: not found; DRIFTWAY names it" >&2; exit 2; }
# The ends of the axis, from the recorded results.
points=$(awk -F, -v figure="$figure" '$1 == figure { print $4 }' "$here/results.csv" | sort -nu)
[ -n "$points" ] || { echo "why.sh: there is no figure $figure" >&2; exit 2; }
first=$(echo "$points" | sed -n 1p) last=$(echo "$points" | sed -n '$p')
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for table in standby air timeouts; do
    awk -v header=1 -f "$here/why-$table.awk" > "$dir/$table"
done
# The tables of the run of arm $1 at $2, in files that begin with $3.
of_run() {
    "$driftway" run "paper:yu-2004#$figure/$1/$2" --events --out "$3.run" > "$3.txt"
    for table in standby air timeouts; do
        awk -v name="$1, $2" -f "$here/why-$table.awk" "$3.run/events-seed-1.csv" > "$3.$table"
    done
    rm -r "$3.run"
}
for arm in "$@"; do
    of_run "$arm" "$first" "$dir/first" &
    other=$!
    of_run "$arm" "$last" "$dir/last"
    wait $other
    for table in standby air timeouts; do
        cat "$dir/first.$table" "$dir/last.$table" >> "$dir/$table"
    done
done
echo "Figure $figure, seed 1"
for table in standby air timeouts; do
    echo
    cat "$dir/$table"
done
