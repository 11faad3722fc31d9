# AODV's events at each node of a run of ns-2.35: for crates/route/tests/ns2_trace.rs, from a trace
# with routerTrace and macTrace ON. A line: event, time, node, kind of packet, its number, from,
# to (both of this hop), source, destination, time to live, next hop, and the fields of an AODV message.
# Events: O a packet from the node's own host, R received, S sent, F given up by the MAC, and a drop by
# its reason.
function hex(digits,   n, i) {
    if (digits == "ffffffff") return -1
    n = 0
    for (i = 1; i <= length(digits); i++) n = 16 * n + index("123456789abcdef", substr(digits, i, 1))
    return n
}
$7 == "RTS" || !($4 == "RTR" || $4 == "MAC" && $5 == "RET") { next }
{
    gsub(/[][_()]/, " "); gsub(/:[0-9]+/, "")
    what = "S"
    if ($1 == "r") what = ($9 == 0 && $10 == 0 && $11 == 0 && $12 == 0) ? "O" : "R"
    if ($1 == "D") what = ($4 == "MAC") ? "F" : $5
    line = what " " $2 " " $3 " " $7 " " $6 " " hex($11) " " hex($10)
    for (i = 14; i <= NF; i++) if (i < 18 || $7 == "AODV" && $i !~ /^[A-Z]/) line = line " " $i
    print line
}
