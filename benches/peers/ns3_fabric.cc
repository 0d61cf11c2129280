// A fat-tree of TCP flows in ns-3, as its users write it: point-to-point links, global routing with
// a random choice among equal paths for each packet. NewReno over drop-tail ports, or DCTCP over
// ports that mark.
//
// Reads "k bits/s delay_ps buffer_bytes payload_bytes window rto_ps mark_bytes", the last 0 for
// NewReno, and then a line a flow, "arrived_ps src dst bytes". Prints {"units", "finished",
// "mean_ps", "cpu_s", "peak_mb"}.

#include <ctime>
#include <fstream>
#include <iostream>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>
#include <sstream>
#include <vector>

using namespace ns3;

namespace {

uint64_t hops = 0;
uint64_t finished = 0;
double completion_ps = 0;

void CountHop(Ptr<const Packet>) { ++hops; }

// One transfer: a sender that keeps its socket full, a receiver that counts bytes.
struct Transfer {
    uint64_t arrived, from, to, bytes;
    uint64_t written = 0, received = 0;
    Ptr<Socket> sender, listener;

    void Fill(Ptr<Socket> socket, uint32_t) {
        while (written < bytes) {
            uint64_t room = std::min<uint64_t>(socket->GetTxAvailable(), bytes - written);
            int sent = room ? socket->Send(Create<Packet>(std::min<uint64_t>(room, 65536))) : 0;
            if (sent <= 0) return;
            written += sent;
        }
    }

    void Connected(Ptr<Socket> socket) { Fill(socket, 0); }

    void Take(Ptr<Socket> socket) {
        while (Ptr<Packet> packet = socket->Recv()) {
            received += packet->GetSize();
        }
        if (received == bytes) {
            ++finished;
            completion_ps += double(Simulator::Now().GetPicoSeconds() - int64_t(arrived));
            sender->Close();
        }
    }

    void Accept(Ptr<Socket> socket, const Address&) {
        socket->SetRecvCallback(MakeCallback(&Transfer::Take, this));
    }

    void Start(Ptr<Node> source, Ipv4Address server, uint16_t port) {
        sender = Socket::CreateSocket(source, TcpSocketFactory::GetTypeId());
        sender->SetConnectCallback(MakeCallback(&Transfer::Connected, this),
                                   MakeNullCallback<void, Ptr<Socket>>());
        sender->SetSendCallback(MakeCallback(&Transfer::Fill, this));
        sender->Connect(InetSocketAddress(server, port));
    }

    void Listen(Ptr<Node> sink, uint16_t port) {
        listener = Socket::CreateSocket(sink, TcpSocketFactory::GetTypeId());
        listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
        listener->Listen();
        listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                    MakeCallback(&Transfer::Accept, this));
    }
};

double PeakMegabytes() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.rfind("VmHWM:", 0) == 0) return std::stod(line.substr(6)) * 1024 / 1e6;
    }
    return 0;
}

}  // namespace

int main() {
    uint64_t k, rate, delay, buffer, payload, window, rto, mark;
    std::cin >> k >> rate >> delay >> buffer >> payload >> window >> rto >> mark;
    std::vector<Transfer> transfers;
    for (Transfer next; std::cin >> next.arrived >> next.from >> next.to >> next.bytes;) {
        transfers.push_back(next);
    }

    Time::SetResolution(Time::PS);
    Config::SetDefault("ns3::Ipv4GlobalRouting::RandomEcmpRouting", BooleanValue(true));
    const TypeId control = mark ? TcpDctcp::GetTypeId() : TcpNewReno::GetTypeId();
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(control));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(payload));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(window));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 24));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 24));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(PicoSeconds(rto)));
    Config::SetDefault("ns3::TcpSocket::ConnCount", UintegerValue(100));
    Config::SetDefault("ns3::TcpSocket::DataRetries", UintegerValue(100));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(PicoSeconds(rto)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MicroSeconds(1)));
    // Sprayed packets arrive out of order: no fast retransmit, as in the study.
    Config::SetDefault("ns3::TcpSocketBase::ReTxThreshold", UintegerValue(1u << 30));
    Config::SetDefault("ns3::TcpSocketBase::LimitedTransmit", BooleanValue(false));
    Config::SetDefault("ns3::RttEstimator::InitialEstimation", TimeValue(PicoSeconds(rto / 4)));

    const uint64_t half = k / 2;
    NodeContainer hosts(k * half * half), edges(k * half), tops(k * half), cores(half * half);
    InternetStackHelper internet;
    internet.InstallAll();
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(rate)));
    link.SetChannelAttribute("Delay", TimeValue(PicoSeconds(delay)));
    const QueueSize room(QueueSizeUnit::BYTES, buffer), one(QueueSizeUnit::PACKETS, 1);
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", QueueSizeValue(mark ? one : room));
    // RED as DCTCP wants it: the instantaneous queue, and every packet above one threshold. Two
    // packets are not in it that the study counts: the one that comes, and the one in the device.
    const double packet = double(payload + 40), threshold = double(mark) - 2 * packet;
    TrafficControlHelper marks;
    marks.SetRootQueueDisc("ns3::RedQueueDisc", "MaxSize", QueueSizeValue(room), "MinTh",
                           DoubleValue(threshold), "MaxTh", DoubleValue(threshold), "QW",
                           DoubleValue(1), "Gentle", BooleanValue(false), "UseEcn",
                           BooleanValue(true), "UseHardDrop", BooleanValue(false), "MeanPktSize",
                           UintegerValue(uint32_t(packet)));
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    std::vector<Ipv4Address> address(hosts.GetN());
    auto connect = [&](Ptr<Node> below, Ptr<Node> above) {
        NetDeviceContainer ends = link.Install(below, above);
        if (mark) marks.Install(ends);
        Ipv4InterfaceContainer given = addresses.Assign(ends);
        addresses.NewNetwork();
        if (!mark) TrafficControlHelper().Uninstall(ends);
        for (uint32_t end = 0; end < 2; ++end) {
            ends.Get(end)->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&CountHop));
        }
        return given.GetAddress(0);
    };
    for (uint64_t host = 0; host < hosts.GetN(); ++host) {
        address[host] = connect(hosts.Get(host), edges.Get(host / half));
    }
    for (uint64_t edge = 0; edge < edges.GetN(); ++edge) {
        for (uint64_t way = 0; way < half; ++way) {
            connect(edges.Get(edge), tops.Get(edge / half * half + way));
        }
    }
    for (uint64_t top = 0; top < tops.GetN(); ++top) {
        for (uint64_t way = 0; way < half; ++way) {
            connect(tops.Get(top), cores.Get(top % half * half + way));
        }
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    for (size_t number = 0; number < transfers.size(); ++number) {
        Transfer& transfer = transfers[number];
        uint16_t port = 1024 + number;
        transfer.Listen(hosts.Get(transfer.to), port);
        Simulator::Schedule(PicoSeconds(transfer.arrived), &Transfer::Start, &transfer,
                            hosts.Get(transfer.from), address[transfer.to], port);
    }
    // Connections linger after their last byte; what they still do is not asked for.
    Simulator::Stop(PicoSeconds(transfers.back().arrived) + Seconds(1));
    const std::clock_t begun = std::clock();
    Simulator::Run();
    const double cpu = double(std::clock() - begun) / CLOCKS_PER_SEC;
    std::cout << "{\"units\": " << hops << ", \"finished\": " << finished
              << ", \"mean_ps\": " << completion_ps / double(finished) << ", \"cpu_s\": " << cpu
              << ", \"peak_mb\": " << PeakMegabytes() << "}\n";
}
