# Time in standby, all connections together, and what followed it. From events-seed-1.csv, columns: 1 time,
# 3 layer, 4 event, 5 reason (the aid's state), 7 flow, 13 offset. A timeout comes soon after a standby when not more than
# eight segments, a window, are acknowledged between.
BEGIN {
    FS = ","
    if (header) {
        print "                       times in  seconds     sent       timeouts   this many            acknowledged,"
        print "standby                standby   in standby  meanwhile  soon after seconds   timeouts   kB"
        exit
    }
}
$3 == "aid" && $4 == "state" {
    if ($5 == "standby" && !since[$7]) { times++; since[$7] = $1 }
    if ($5 != "standby" && since[$7]) { total += $1 - since[$7]; since[$7] = 0; ended[$7] = $1; before[$7] = acked[$7] }
}
$3 == "tcp" && $4 == "retransmitted" && since[$7] { probes++ }
$3 == "tcp" && $4 == "acked" {
    acked[$7] = $13
    if (ended[$7] && $13 > before[$7] + 8 * 1460) ended[$7] = 0
}
$3 == "tcp" && $4 == "timeout" {
    timeouts++
    if (ended[$7]) { soon++; after += $1 - ended[$7]; ended[$7] = 0 }
}
END {
    if (!header) {
        for (flow in since) if (since[flow]) total += 900 - since[flow]
        for (flow in acked) sum += acked[flow]
        printf "%-22s %-9d %-11.0f %-10d %-10d %-9.1f %-10d %.0f\n",
            name, times, total, probes, soon, soon ? after / soon : 0, timeouts, sum / 1000
    }
}
