import CLinux
import Glibc

/// The system's resolver (`getaddrinfo`, POSIX), which blocks for as long as it likes.
struct SystemLookup: Sendable {
    /// Which names the system's search domains may complete (resolv.conf(5)). A name that strangers chose must not reach
    /// `name.cluster.local`.
    enum Search: Sendable {
        /// None: every name is whole.
        case never
        /// Names without a dot: those of a container network.
        case singleLabels
        /// All: the operator chose the name.
        case always
    }

    private static let memory: Int32 = EAI_MEMORY
    private static let system: Int32 = EAI_SYSTEM
    /// glibc's EAI_NODATA, a GNU extension: the name exists, but has no address.
    private static let noData: Int32 = -5

    let search: Search

    func addresses(of name: String) -> Resolution {
        let isSearched =
            switch search {
            case .never: false
            case .singleLabels: !name.contains(".")
            case .always: true
            }
        guard !isSearched else { return SystemLookup.ask(name) }
        let given = HostsFile().addresses(of: name)
        guard given.isEmpty else { return .addresses(given) }
        return SystemLookup.ask(name + ".")
    }

    private static func ask(_ name: String) -> Resolution {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = clinux_stream
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(name, nil, &hints, &list)
        let number = errno
        defer { if let list { freeaddrinfo(list) } }
        switch status {
        case 0: return found(list)
        case EAI_NONAME, noData: return .notFound
        case memory: return .infrastructure("no memory to resolve names")
        case system: return .infrastructure("names cannot be resolved: system error \(number)")
        default: return .temporarily
        }
    }

    private static func found(_ list: UnsafeMutablePointer<addrinfo>?) -> Resolution {
        var addresses: [IPAddress] = []
        var next = list
        while let entry = next {
            if let raw = entry.pointee.ai_addr,
                let address = IPAddress(socketAddress: raw, length: Int(entry.pointee.ai_addrlen)),
                !addresses.contains(address)
            {
                addresses.append(address)
            }
            next = entry.pointee.ai_next
        }
        return addresses.isEmpty ? .notFound : .addresses(addresses)
    }
}
