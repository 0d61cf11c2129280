// 200 permanent NewReno flows of 20 servers through one uplink in ns-3, the case of `phase.rs`; with
// hosts that take no time for a packet, as ns-3's, or as much as ours.
//
//   g++ -O2 -std=c++17 ns3_single_switch.cc -o single -lns3-core -lns3-network -lns3-internet \
//       -lns3-point-to-point    # Debian: libns3-dev
//   ./single SEED OVERHEAD MEMORY_BYTES UPLINK_US SACK WINDOW_BYTES SECONDS SPREAD_US
//
// OVERHEAD is that of `[hosts]`; each host's link is longer by a uniform time up to SPREAD_US.
// Prints cv, top to bottom twentieth, time-outs.

#include <algorithm>
#include <cmath>
#include <iostream>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <vector>

using namespace ns3;

namespace {

const uint32_t kServers = 20, kFlows = 10, kSegment = 1448;

uint64_t timeouts = 0;

// A link whose first end is a host that takes a random time for each packet, in order.
class HostChannel : public PointToPointChannel {
  public:
    Time most;
    Ptr<UniformRandomVariable> chance = CreateObject<UniformRandomVariable>();

    bool TransmitStart(Ptr<const Packet> packet, Ptr<PointToPointNetDevice> from,
                       Time span) override {
        const bool host = from == GetSource(0);
        Time at = Simulator::Now() + span + GetDelay();
        if (host && most.IsStrictlyPositive()) {
            at += PicoSeconds(int64_t(chance->GetValue(0, double(most.GetPicoSeconds()))));
            at = std::max(at, last_ + PicoSeconds(1));
            last_ = at;
        }
        Ptr<PointToPointNetDevice> to = GetDestination(host ? 0 : 1);
        Simulator::ScheduleWithContext(to->GetNode()->GetId(), at - Simulator::Now(),
                                       &PointToPointNetDevice::Receive, to, packet->Copy());
        return true;
    }

  private:
    Time last_;
};

NetDeviceContainer Connect(Ptr<Node> host, Ptr<Node> above, DataRate rate, Time delay, Time most,
                           QueueSize memory) {
    auto channel = CreateObject<HostChannel>();
    channel->SetAttribute("Delay", TimeValue(delay));
    channel->most = most;
    NetDeviceContainer ends;
    const QueueSize endless(QueueSizeUnit::BYTES, 1 << 30);
    for (auto [node, size] : {std::pair(host, endless), std::pair(above, memory)}) {
        auto device = CreateObject<PointToPointNetDevice>();
        device->SetAttribute("DataRate", DataRateValue(rate));
        device->SetAddress(Mac48Address::Allocate());
        auto queue = CreateObject<DropTailQueue<Packet>>();
        queue->SetMaxSize(size);
        device->SetQueue(queue);
        node->AddDevice(device);
        device->Attach(channel);
        ends.Add(device);
    }
    return ends;
}

struct Permanent {
    Ptr<Socket> sender, listener;
    uint64_t received = 0, before = 0;

    void Fill(Ptr<Socket> socket, uint32_t) {
        while (socket->GetTxAvailable() >= kSegment && socket->Send(Create<Packet>(kSegment)) > 0) {
        }
    }
    void Connected(Ptr<Socket> socket) { Fill(socket, 0); }
    void Take(Ptr<Socket> socket) {
        while (Ptr<Packet> packet = socket->Recv()) received += packet->GetSize();
    }
    void Accept(Ptr<Socket> socket, const Address&) {
        socket->SetRecvCallback(MakeCallback(&Permanent::Take, this));
    }
};

void CountTimeout(TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t now) {
    timeouts += now == TcpSocketState::CA_LOSS;
}

}  // namespace

int main(int count, char** said) {
    if (count != 9) {
        std::cerr << "expected 8 arguments, as the head of this file has them\n";
        return 2;
    }
    const uint32_t seed = std::stoul(said[1]);
    const double overhead = std::stod(said[2]), uplink_us = std::stod(said[4]);
    const uint32_t memory = std::stoul(said[3]), window = std::stoul(said[6]);
    const double seconds = std::stod(said[7]), spread_us = std::stod(said[8]);

    Time::SetResolution(Time::PS);
    RngSeedManager::SetSeed(seed);
    auto set = [](const char* name, const AttributeValue& value) { Config::SetDefault(name, value); };
    set("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    set("ns3::TcpSocket::SegmentSize", UintegerValue(kSegment));
    set("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    set("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    set("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
    set("ns3::TcpSocket::SndBufSize", UintegerValue(window));
    set("ns3::TcpSocket::RcvBufSize", UintegerValue(window));
    set("ns3::TcpSocketBase::Sack", BooleanValue(std::stoul(said[5])));
    set("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    set("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    set("ns3::TcpSocketBase::ClockGranularity", TimeValue(MicroSeconds(1)));
    set("ns3::RttEstimator::InitialEstimation", TimeValue(MilliSeconds(50)));

    NodeContainer servers(kServers), inner(1), client(1);
    InternetStackHelper internet;
    internet.InstallAll();
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    auto chance = CreateObject<UniformRandomVariable>();
    auto join = [&](Ptr<Node> host, uint64_t rate, double us, uint32_t bytes) {
        const Time full = Seconds(overhead * 1502 * 8 / double(rate));
        auto size = QueueSize(QueueSizeUnit::BYTES, bytes);
        auto ends = Connect(host, inner.Get(0), DataRate(rate), PicoSeconds(int64_t(us * 1e6)),
                            full, size);
        Ipv4InterfaceContainer given = addresses.Assign(ends);
        addresses.NewNetwork();
        return given.GetAddress(0);
    };
    const double longer = spread_us > 0 ? chance->GetValue(0, spread_us) : 0;
    const Ipv4Address sink = join(client.Get(0), 40'000'000'000, uplink_us + longer, memory);
    for (uint32_t server = 0; server < kServers; ++server) {
        join(servers.Get(server), 10'000'000'000, 10 + chance->GetValue(0, spread_us), 1 << 30);
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    std::vector<Permanent> flows(kServers * kFlows);
    for (uint32_t number = 0; number < flows.size(); ++number) {
        Permanent* flow = &flows[number];
        const uint16_t port = 1000 + number;
        flow->listener = Socket::CreateSocket(client.Get(0), TcpSocketFactory::GetTypeId());
        flow->listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
        flow->listener->Listen();
        flow->listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                          MakeCallback(&Permanent::Accept, flow));
        flow->sender = Socket::CreateSocket(servers.Get(number / kFlows),
                                            TcpSocketFactory::GetTypeId());
        flow->sender->TraceConnectWithoutContext("CongState", MakeCallback(&CountTimeout));
        flow->sender->SetConnectCallback(MakeCallback(&Permanent::Connected, flow),
                                         MakeNullCallback<void, Ptr<Socket>>());
        flow->sender->SetSendCallback(MakeCallback(&Permanent::Fill, flow));
        Simulator::Schedule(Seconds(chance->GetValue(0, 0.02)), [flow, sink, port] {
            flow->sender->Connect(InetSocketAddress(sink, port));
        });
    }
    Simulator::Schedule(Seconds(0.2), [&flows] {
        for (Permanent& flow : flows) flow.before = flow.received;
        timeouts = 0;
    });
    Simulator::Stop(Seconds(0.2 + seconds));
    Simulator::Run();

    std::vector<double> got;
    for (const Permanent& flow : flows) got.push_back(double(flow.received - flow.before));
    std::sort(got.begin(), got.end());
    double sum = 0, squares = 0;
    for (double one : got) sum += one, squares += one * one;
    const double mean = sum / got.size();
    const size_t twentieth = got.size() / 20;
    double top = 0, bottom = 0;
    for (size_t at = 0; at < twentieth; ++at) top += got[got.size() - 1 - at], bottom += got[at];
    std::cout << std::sqrt(squares / got.size() - mean * mean) / mean << ' ' << top / bottom << ' '
              << timeouts << '\n';
}
