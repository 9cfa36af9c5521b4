import Glibc

/// An IP address by its bits, so that every spelling of one address is the same value.
package enum IPAddress: Sendable, Hashable {
    case v4(UInt32)
    case v6(high: UInt64, low: UInt64)

    /// The strict spellings only: dotted decimal with four parts, or RFC 4291 §2.2 without brackets and zone.
    package init?(parsing text: String) {
        var four = in_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            self = .v4(UInt32(bigEndian: four.s_addr))
            return
        }
        var six = in6_addr()
        guard inet_pton(AF_INET6, text, &six) == 1 else { return nil }
        self = withUnsafeBytes(of: six) { IPAddress(network: $0) } ?? .v6(high: 0, low: 0)
    }

    /// Four or sixteen bytes in network order.
    package init?(network bytes: UnsafeRawBufferPointer) {
        switch bytes.count {
        case 4: self = .v4(bytes.reduce(0) { $0 << 8 | UInt32($1) })
        case 16:
            self = .v6(
                high: bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) },
                low: bytes.suffix(8).reduce(0) { $0 << 8 | UInt64($1) })
        default: return nil
        }
    }

    /// The address in a socket address of `length` bytes; nil for families other than IPv4 and IPv6.
    init?(socketAddress: UnsafeRawPointer, length: Int) {
        guard length >= MemoryLayout<sa_family_t>.size else { return nil }
        let bytes = UnsafeRawBufferPointer(start: socketAddress, count: length)
        switch Int32(bytes.loadUnaligned(as: sa_family_t.self)) {
        case AF_INET:
            guard length >= MemoryLayout<sockaddr_in>.size else { return nil }
            let start = MemoryLayout<sockaddr_in>.offset(of: \.sin_addr) ?? 4
            self.init(network: UnsafeRawBufferPointer(rebasing: bytes[start..<start + 4]))
        case AF_INET6:
            guard length >= MemoryLayout<sockaddr_in6>.size else { return nil }
            let start = MemoryLayout<sockaddr_in6>.offset(of: \.sin6_addr) ?? 8
            self.init(network: UnsafeRawBufferPointer(rebasing: bytes[start..<start + 16]))
        default: return nil
        }
    }

    /// The IPv4 address that the kernel really connects to for an IPv4-mapped one (`::ffff:0:0/96`, RFC 4291 §2.5.5.2);
    /// any other address as it is.
    package var unmapped: IPAddress {
        guard case .v6(0, let low) = self, low >> 32 == 0xffff else { return self }
        return .v4(UInt32(truncatingIfNeeded: low))
    }

    /// The IPv4 address that a NAT64 gateway connects to for one in `64:ff9b::/96` (RFC 6052 §2.1); nil for others.
    package var translated: IPAddress? {
        guard case .v6(0x0064_ff9b_0000_0000, let low) = self, low >> 32 == 0 else { return nil }
        return .v4(UInt32(truncatingIfNeeded: low))
    }

    /// The width in bits.
    var width: Int {
        if case .v4 = self { 32 } else { 128 }
    }
}

extension IPAddress: CustomStringConvertible {
    /// Dotted decimal, or RFC 5952 without brackets.
    package var description: String {
        switch self {
        case .v4(let bits):
            return [24, 16, 8, 0].map { String(bits >> UInt32($0) & 0xff) }.joined(separator: ".")
        case .v6(let high, let low):
            var address = in6_addr()
            withUnsafeMutableBytes(of: &address) { bytes in
                bytes.storeBytes(of: high.bigEndian, toByteOffset: 0, as: UInt64.self)
                bytes.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
            }
            return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
                guard let text = inet_ntop(AF_INET6, &address, buffer.baseAddress, socklen_t(buffer.count)) else {
                    return "::"
                }
                return String(cString: text)
            }
        }
    }
}
