/// A range of addresses in CIDR notation (RFC 4632 §3.1, RFC 4291 §2.3), as in `127.0.0.0/8` or `::1/128`.
package struct Network: Sendable, Hashable {
    private let base: IPAddress
    /// Leading bits that are fixed.
    private let prefix: Int

    /// Nil unless the text is an address, `/` and a prefix length of its family, with no bits set behind the prefix. An
    /// address alone is a range of one. A range inside `::ffff:0:0/96` means the IPv4 range that it spells.
    package init?(parsing text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let address = IPAddress(parsing: String(first)) else { return nil }
        var prefix = address.width
        if parts.count == 2 {
            guard parts[1].utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
                let length = Int(parts[1]), length <= address.width
            else { return nil }
            prefix = length
        }
        if address.unmapped != address, prefix >= 96 {
            self.init(address.unmapped, prefix: prefix - 96)
        } else {
            self.init(address, prefix: prefix)
        }
        guard base == Network.masked(base, to: self.prefix) else { return nil }
    }

    private init(_ base: IPAddress, prefix: Int) {
        self.base = base
        self.prefix = prefix
    }

    /// For tables in the source; bits behind the prefix are cleared.
    static func v4(_ a: UInt8, _ b: UInt8, _ c: UInt8, _ d: UInt8, prefix: Int) -> Network {
        let bits = UInt32(a) << 24 | UInt32(b) << 16 | UInt32(c) << 8 | UInt32(d)
        return Network(masked(.v4(bits), to: prefix), prefix: prefix)
    }

    /// For tables in the source, by the upper 64 bits; bits behind the prefix are cleared.
    static func v6(_ high: UInt64, _ low: UInt64 = 0, prefix: Int) -> Network {
        Network(masked(.v6(high: high, low: low), to: prefix), prefix: prefix)
    }

    /// Families are apart: an IPv4-mapped address is in no IPv4 range until it is unmapped.
    package func contains(_ address: IPAddress) -> Bool {
        address.width == base.width && Network.masked(address, to: prefix) == base
    }

    private static func masked(_ address: IPAddress, to prefix: Int) -> IPAddress {
        switch address {
        case .v4(let bits):
            .v4(bits & ~(UInt32.max >> UInt32(prefix)))
        case .v6(let high, let low):
            // Swift's smart shifts give 0 beyond the width.
            .v6(high: high & ~(UInt64.max >> UInt64(prefix)), low: low & ~(UInt64.max >> UInt64(max(0, prefix - 64))))
        }
    }
}

extension Network: CustomStringConvertible {
    package var description: String { "\(base)/\(prefix)" }
}
