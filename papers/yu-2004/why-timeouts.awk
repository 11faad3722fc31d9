# What had happened, at the time of each timeout, to the segment that timed out and to its acknowledgment.
# Connection n goes from node 2n to node 2n + 1. From events-seed-1.csv, columns: 2 node, 3 layer, 4 event,
# 6 kind, 7 flow, 10 destination, 13 offset.
BEGIN {
    FS = ","
    if (header) {
        print "                                 arrived, and the ACK          not arrived"
        print "                                 waits for            is on    waits for            is on"
        print "timeouts               timeouts  a route    was lost  its way  a route    was lost  its way"
        exit
    }
}
$3 == "routing" && $6 == "tcp-data" && ($4 == "delivered" || $4 == "dropped") {
    outcome[$7, $13] = NR
    if ($4 == "delivered") arrived[$7, $13] = 1
}
$3 == "routing" && $6 == "tcp-ack" && ($4 == "delivered" || $4 == "dropped") { ack[$7] = $4 }
$3 == "routing" && $4 == "route-lost" { lost[$2, $10] = 1 }
$3 == "routing" && $4 == "route-found" { lost[$2, $10] = 0 }
$3 == "tcp" && $4 == "timeout" { due[$7] = 1; timeouts++; next }
$3 == "tcp" && ($4 == "sent" || $4 == "retransmitted") {
    if (due[$7]) {
        from = 2 * $7; to = from + 1
        if (($7, $13) in arrived)
            what = lost[to, from] ? 1 : ack[$7] == "dropped" ? 2 : 3
        else
            what = outcome[$7, $13] >= sent[$7, $13] ? 5 : lost[from, to] ? 4 : 6
        count[what]++
        due[$7] = 0
    }
    sent[$7, $13] = NR
}
END {
    if (!header)
        printf "%-22s %-9d %-10d %-9d %-8d %-10d %-9d %d\n",
            name, timeouts, count[1], count[2], count[3], count[4], count[5], count[6]
}
