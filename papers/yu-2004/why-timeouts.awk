# What had happened, at the time of each timeout, to the segment that timed out and to its acknowledgment.
# Connection n goes from node 2n to node 2n + 1. From events-seed-1.csv, columns: 2 node, 3 layer, 4 event,
# 6 kind, 7 flow, 8 packet, 9 source, 10 destination, 13 offset.
#
# A packet waits for a route while its node searches for one, or as long as it has not left that node. The last
# column counts the acknowledgments under "was lost" whose own node had no route at the timeout and did not
# search: BEAD, which uses cached routes alone (section 4.1), has given up.
BEGIN {
    FS = ","
    if (header) {
        print "                                 arrived, and the ACK          not arrived                   ACKs lost,"
        print "                                 waits for            is on    waits for            is on    and no route"
        print "timeouts               timeouts  a route    was lost  its way  a route    was lost  its way  for another"
        exit
    }
}
$3 == "routing" && $6 == "tcp-data" && ($4 == "delivered" || $4 == "dropped") {
    outcome[$7, $13] = NR
    if ($4 == "delivered" && !(($7, $13) in arrived)) arrived[$7, $13] = NR
}
$3 == "queue" && $4 == "enqueued" && $6 == "tcp-data" && $2 == 2 * $7 { left[$7, $13] = NR }
$3 == "queue" && $4 == "enqueued" && $6 == "tcp-ack" && !(($7, $8) in ended) && !(($7, $8) in since) { since[$7, $8] = NR }
# The line where an acknowledgment left its node; that of its loss if it has never been in a queue.
($3 == "routing" || $3 == "queue") && $6 == "tcp-ack" && ($4 == "delivered" || $4 == "dropped") {
    line = ($7, $8) in since ? since[$7, $8] : NR
    if ($4 == "dropped" && line > dropped[$7]) dropped[$7] = line
    delete since[$7, $8]
    ended[$7, $8] = 1
}
$3 == "routing" && $4 == "route-lost" { lost[$2, $10] = 1 }
$3 == "routing" && $4 == "route-found" { lost[$2, $10] = searches[$2, $10] = 0 }
# A node at an end of a connection searches for the other end.
$3 == "queue" && $4 == "enqueued" && $6 == "dsr-rreq" && $2 == $9 {
    peer = $2 % 2 ? $2 - 1 : $2 + 1
    if (lost[$2, peer]) searches[$2, peer] = 1
}
$3 == "tcp" && $4 == "timeout" { due[$7] = 1; timeouts++; next }
$3 == "tcp" && ($4 == "sent" || $4 == "retransmitted") {
    if (due[$7]) {
        from = 2 * $7; to = from + 1
        if (($7, $13) in arrived) {
            what = searches[to, from] ? 1 : under_way($7, arrived[$7, $13]) ? 3 : dropped[$7] > arrived[$7, $13] ? 2 : 1
            if (what == 2 && lost[to, from]) given_up++
        } else
            what = outcome[$7, $13] >= sent[$7, $13] ? 5 : searches[from, to] || left[$7, $13] < sent[$7, $13] ? 4 : 6
        count[what]++
        due[$7] = 0
    }
    sent[$7, $13] = NR
}
END {
    if (!header)
        printf "%-22s %-9d %-10d %-9d %-8d %-10d %-9d %-8d %d\n",
            name, timeouts, count[1], count[2], count[3], count[4], count[5], count[6], given_up
}

# True if an acknowledgment that has left its node after this line is still in the network.
function under_way(flow, after,    key, part) {
    for (key in since) {
        split(key, part, SUBSEP)
        if (part[1] == flow && since[key] > after) return 1
    }
    return 0
}
