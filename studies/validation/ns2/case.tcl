# One run in ns-2.35: `ns case.tcl KEY VALUE …`, keys as below. It prints "NAME VALUE" lines.
# The order in which objects are created decides which random numbers they get; with the defaults it is
# that of the runs in ../ns2.csv, so that a seed reproduces a run.
array set case {
  routing AODV  nodes 2  spacing 200  movement ""  area "2000 1000"
  tcp Newreno  payload 1460  window 32  cwnd_limit 0
  traffic tcp  flows 1  destination 1  start 10.0  lasts 200.0
  rts_threshold 0  seed 1  trace none  output ns-2.trace
}
foreach {key value} $argv {
  if {![info exists case($key)]} {
    puts stderr "case.tcl: there is no key `$key`; there are [lsort [array names case]]"
    exit 2
  }
  set case($key) $value
}
set here [file dirname [info script]]

# 914 MHz WaveLAN: receive range 250 m, sense range 550 m. ns-2.35's default data rate is 1 Mbit/s.
Mac/802_11 set dataRate_ 2Mb
Mac/802_11 set basicRate_ 1Mb
Mac/802_11 set RTSThreshold_ $case(rts_threshold)
foreach {key value} {
  CPThresh_ 10.0  CSThresh_ 1.559e-11  RXThresh_ 3.652e-10  Pt_ 0.28183815  freq_ 914e+6  L_ 1.0
} { Phy/WirelessPhy set $key $value }

global defaultRNG
$defaultRNG seed $case(seed)
set sim [new Simulator]

# Events are counted while the trace is written: stored, it would be gigabytes. That of a short run is stored as it is, for
# scripts/ns2-measures.
if {$case(trace) eq "none"} {
  set trace [open /dev/null w]
} elseif {$case(trace) eq "measures"} {
  set trace [open $case(output) w]
} else {
  # AODV's events go to a file, apart from the results that are printed at the end.
  set reader [expr {$case(trace) eq "aodv" ? "aodv.awk > aodv.trace" : "count.awk >@stdout"}]
  set trace [open "|awk -f $here/$reader" w]
  fconfigure $trace -buffering full -buffersize 65536
}
$sim trace-all $trace
array set layers {none {OFF OFF} router {ON OFF} mac {ON ON} aodv {ON ON} measures {ON ON}}
foreach {router_trace mac_trace} $layers($case(trace)) {}
set agent_trace [expr {$case(trace) eq "measures" ? "ON" : "OFF"}]

if {$case(movement) eq ""} {
  set case(area) [list [expr {$case(spacing) * ($case(nodes) - 1) + 100}] 200]
}
set ground [new Topography]
$ground load_flatgrid [lindex $case(area) 0] [lindex $case(area) 1]
set god_ [create-god $case(nodes)]
set queue [expr {$case(routing) eq "DSR" ? "CMUPriQueue" : "Queue/DropTail/PriQueue"}]
$sim node-config -adhocRouting $case(routing) -llType LL -macType Mac/802_11 -ifqType $queue \
  -ifqLen 50 -antType Antenna/OmniAntenna -propType Propagation/TwoRayGround \
  -phyType Phy/WirelessPhy -channel [new Channel/WirelessChannel] -topoInstance $ground \
  -agentTrace $agent_trace -routerTrace $router_trace -macTrace $mac_trace -movementTrace OFF
# Radios draw ns-2's own powers: no option sets one.
if {$case(trace) eq "measures"} { $sim node-config -energyModel EnergyModel -initialEnergy 1e6 }
for {set n 0} {$n < $case(nodes)} {incr n} {
  set node_($n) [$sim node]
  $node_($n) random-motion 0
}
if {$case(movement) eq ""} {
  for {set n 0} {$n < $case(nodes)} {incr n} {
    $node_($n) set X_ [expr {50.0 + $case(spacing) * $n}]
    $node_($n) set Y_ 100.0
    $node_($n) set Z_ 0.0
  }
} else {
  set ns_ $sim
  source $case(movement)
}

# ns-2.35 has no static routing for mobile nodes. DSDV that ignores link failures, and sends no updates
# from 60 s on, amounts to it: routes do not change.
proc freeze {} {
  global case node_
  for {set n 0} {$n < $case(nodes)} {incr n} { [$node_($n) set ragent_] set perup_ 1e6 }
}
if {$case(routing) eq "DSDV"} { $sim at 60.0 freeze }

# The flow of a chain goes from end to end; others go from 0 to 1, from 2 to 3 and so on.
proc ends {flow} {
  global case
  if {$case(movement) eq ""} { return [list 0 $case(destination)] }
  return [list [expr {2 * $flow}] [expr {2 * $flow + 1}]]
}
for {set flow 0} {$flow < $case(flows)} {incr flow} {
  foreach {from to} [ends $flow] {}
  if {$case(traffic) eq "tcp"} {
    set agent($flow) [new Agent/TCP[expr {$case(tcp) eq "Tahoe" ? "" : "/$case(tcp)"}]]
    foreach {key value} [list packetSize_ $case(payload) window_ $case(window) \
        maxcwnd_ $case(cwnd_limit)] { $agent($flow) set $key $value }
    set sink($flow) [new Agent/TCPSink]
  } else {
    set agent($flow) [new Agent/UDP]
    set sink($flow) [new Agent/LossMonitor]
  }
  $sim attach-agent $node_($from) $agent($flow)
  $sim attach-agent $node_($to) $sink($flow)
  $sim connect $agent($flow) $sink($flow)
  if {$case(traffic) eq "tcp"} {
    set application($flow) [new Application/FTP]
  } else {
    set application($flow) [new Application/Traffic/CBR]
    foreach {key value} {packetSize_ 512 interval_ 0.25 random_ 1} {
      $application($flow) set $key $value
    }
  }
  $application($flow) attach-agent $agent($flow)
  $sim at [expr {$case(start) + 0.1 * $flow}] "$application($flow) start"
}

proc finish {} {
  global sim case agent sink trace
  array set sum {segments_sent 0 retransmissions 0 timeouts 0 delivered_bytes 0 delivered_packets 0}
  for {set flow 0} {$flow < $case(flows)} {incr flow} {
    if {$case(traffic) eq "tcp"} {
      foreach {name key} {segments_sent ndatapack_ retransmissions nrexmitpack_
          timeouts nrexmit_} { set sum($name) [expr {$sum($name) + [$agent($flow) set $key]}] }
      # Packet 0 is the SYN: the highest number acknowledged is the number of data packets that arrived.
      set packets [expr {max(0, [$agent($flow) set ack_])}]
      set size $case(payload)
    } else {
      set packets [$sink($flow) set npkts_]
      set size 512
    }
    set sum(delivered_packets) [expr {$sum(delivered_packets) + $packets}]
    set sum(delivered_bytes) [expr {$sum(delivered_bytes) + $packets * $size}]
  }
  foreach name [lsort [array names sum]] { puts "$name [format %.0f $sum($name)]" }
  puts "goodput_bps [expr {$sum(delivered_bytes) * 8 / double($case(lasts))}]"
  flush stdout
  $sim flush-trace
  close $trace
  exit 0
}
$sim at [expr {$case(start) + $case(lasts)}] finish
$sim run
