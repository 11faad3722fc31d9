// One run in ns-3 of studies/validation/queue.toml: sources of datagrams in bursts at one queue discipline before a wire.
// scripts/ns3-queues compiles it at run time.

using namespace ns3;

// Packets of constant size at constant intervals during exponentially distributed bursts, the first at the beginning of a
// burst. (The first packet of ns-3's OnOffApplication leaves after an interval.)
class BurstSource : public Object
{
  public:
    BurstSource(Ptr<Socket> socket, uint32_t payload, Time every, double on, double off)
        : m_socket(socket), m_payload(payload), m_every(every), m_on(on), m_off(off),
          m_random(CreateObject<ExponentialRandomVariable>())
    {
    }

    void Send()
    {
        m_socket->Send(Create<Packet>(m_payload));
        Time now = Simulator::Now();
        if (now >= m_burstEnds)
            m_burstEnds = now + Draw(m_on);
        Time next = now + m_every;
        if (next >= m_burstEnds)
            next = Max(next, m_burstEnds + Draw(m_off));
        Simulator::Schedule(next - now, &BurstSource::Send, this);
    }

  private:
    Time Draw(double mean) { return Seconds(m_random->GetValue(mean, 0)); }

    Ptr<Socket> m_socket;
    uint32_t m_payload;
    Time m_every;
    double m_on, m_off;
    Time m_burstEnds;
    Ptr<ExponentialRandomVariable> m_random;
};

static TrafficControlHelper
Discipline(const std::string& name)
{
    TrafficControlHelper control;
    QueueSizeValue limit(QueueSize("1000p"));
    if (name == "drop-tail")
        control.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", QueueSizeValue(QueueSize("99p")));
    else if (name == "codel")
        control.SetRootQueueDisc("ns3::CoDelQueueDisc", "MaxSize", limit);
    else if (name == "fq-codel")
        control.SetRootQueueDisc("ns3::FqCoDelQueueDisc", "MaxSize", limit);
    else if (name == "pie")
        // RFC 8033's reference delay; ns-3's default is 20 ms.
        control.SetRootQueueDisc("ns3::PieQueueDisc", "MaxSize", limit, "QueueDelayReference",
                                 TimeValue(MilliSeconds(15)));
    else
        // Drops are spread as in Floyd & Jacobson's paper: "Wait" is ns-2's later rule, "Gentle" another paper's.
        control.SetRootQueueDisc("ns3::RedQueueDisc", "MaxSize", limit, "MinTh", DoubleValue(50), "MaxTh",
                                 DoubleValue(150), "QW", DoubleValue(0.002), "LInterm", DoubleValue(10), "Gentle",
                                 BooleanValue(false), "Wait", BooleanValue(false), "MeanPktSize",
                                 UintegerValue(500), "LinkBandwidth", StringValue("10Mbps"));
    return control;
}

// Packets sent a second, the share of them that the discipline dropped, and the mean delay of the others (s).
static std::vector<double>
RunQueue(const std::string& discipline, uint32_t seed, uint32_t sources, double seconds)
{
    RngSeedManager::SetSeed(seed);
    NodeContainer nodes;
    nodes.Create(2);
    PointToPointHelper wire;
    // A PPP header of 2 bytes goes with each packet of 1000: as many packets a second as without it at 10 Mbit/s.
    wire.SetDeviceAttribute("DataRate", StringValue("10.02Mbps"));
    wire.SetChannelAttribute("Delay", StringValue("5ms"));
    wire.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));
    NetDeviceContainer devices = wire.Install(nodes);
    InternetStackHelper().Install(nodes);
    QueueDiscContainer discs = Discipline(discipline).Install(devices.Get(0));
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
    FlowMonitorHelper helper;
    Ptr<FlowMonitor> monitor = helper.InstallAll();
    std::vector<Ptr<BurstSource>> all;
    for (uint16_t port = 1000; port < 1000 + sources; port++)
    {
        InetSocketAddress there(interfaces.GetAddress(1), port);
        PacketSinkHelper("ns3::UdpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port)).Install(nodes.Get(1));
        Ptr<Socket> socket = Socket::CreateSocket(nodes.Get(0), UdpSocketFactory::GetTypeId());
        socket->Connect(there);
        all.push_back(Create<BurstSource>(socket, 972, MilliSeconds(5), 0.5, 0.5));
        Simulator::Schedule(Seconds(0), &BurstSource::Send, all.back());
    }
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    double sent = 0, arrived = 0, delay = 0;
    for (const auto& [id, flow] : monitor->GetFlowStats())
    {
        sent += flow.txPackets;
        arrived += flow.rxPackets;
        delay += flow.delaySum.GetSeconds();
    }
    double dropped = discs.Get(0)->GetStats().nTotalDroppedPackets;
    Simulator::Destroy();
    return {sent / seconds, dropped / sent, delay / arrived};
}
