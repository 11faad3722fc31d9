# Channel time in seconds by what it carried, summed over all nodes: 192 us of preamble and 2 Mbit/s per frame. From
# events-seed-1.csv, columns: 3 layer, 4 event, 5 reason, 6 kind, 12 bytes, 14 hops. An RTS without
# `received` was not answered.
BEGIN {
    FS = ","
    if (header) {
        print "                       segments          lost on  air, s"
        print "air                    arrived   hops    the way  data  ACKs  RTS…  idle RTS  requests  replies  errors"
        exit
    }
}
$3 == "air" && $4 == "sent" {
    kind = $6
    if (kind == "rts" && $5 != "received") kind = "idle"
    else if (kind == "rts" || kind == "cts" || kind == "ack") kind = "mac"
    air[kind] += (192 + 4 * $12) / 1e6
}
$3 == "routing" && $6 == "tcp-data" && $4 == "delivered" { arrived++; hops += $14 }
$3 == "routing" && $6 == "tcp-data" && $4 == "dropped" { lost++ }
END {
    if (!header)
        printf "%-22s %-9d %-7.2f %-8d %-5.0f %-5.0f %-5.0f %-9.0f %-9.0f %-8.0f %.0f\n",
            name, arrived, arrived ? hops / arrived : 0, lost, air["tcp-data"], air["tcp-ack"], air["mac"],
            air["idle"], air["dsr-rreq"], air["dsr-rrep"], air["dsr-rerr"]
}
