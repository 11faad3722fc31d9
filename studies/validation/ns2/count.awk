# Counts the lines of ns-2's trace (the old format for wireless networks) as they come, and prints
# "NAME VALUE" lines. $1 is the event, $4 the layer, $5 the reason, $7 the kind of packet. DSR writes
# other kinds of lines in between.
$1 != "s" && $1 != "r" && $1 != "f" && $1 != "D" { next }
{
  sent = $1 == "s" || $1 == "f"
  if ($4 == "RTR" && sent) {
    if ($7 == "tcp" || $7 == "cbr") n["data_hops"]++
    else if ($7 == "ack") n["ack_hops"]++
    else { n["routing_packets"]++; n["routing_bytes"] += $8 }
  } else if ($4 == "MAC" && $1 == "s") {
    if ($7 == "RTS") n["rts"]++
    else if ($7 == "CTS") n["cts"]++
    else if ($7 == "ACK") n["mac_ack"]++
    else n["mac_data"]++
  } else if ($1 == "D") {
    if ($4 == "MAC" && $5 == "COL") n["collisions"]++
    else if ($4 == "MAC" && $5 == "RET" && $7 != "RTS") n["link_failures"]++
    else if ($4 == "IFQ" && $5 != "ARP") n["queue_drops"]++
    else if ($4 == "RTR") n["route_drops"]++
  }
}
END {
  split("data_hops ack_hops routing_packets routing_bytes queue_drops route_drops", router)
  split("rts cts mac_data mac_ack collisions link_failures", mac)
  for (i in router) printf "%s %d\n", router[i], n[router[i]]
  if (n["mac_data"] > 0) for (i in mac) printf "%s %d\n", mac[i], n[mac[i]]
}
