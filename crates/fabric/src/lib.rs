//! Packet-level simulation of switched fabrics.
