import CLinux
import CMicrohttpd
import Glibc

/// Why a server does not listen.
package enum HTTPServerError: Error, CustomStringConvertible, Equatable {
    case malformedAddress(String)
    case cannotListen(address: String, reason: String)
    case cannotStart

    package var description: String {
        switch self {
        case .malformedAddress(let address):
            "\"\(address)\" is not a numeric address with a port, such as 127.0.0.1:8080 or [::1]:8080"
        case .cannotListen(let address, let reason): "cannot listen on \(address): \(reason)"
        case .cannotStart: "the listener did not start, or was started before"
        }
    }
}

/// A bound socket that listens.
enum ListeningSocket {
    static func open(_ text: String) throws(HTTPServerError) -> Int32 {
        guard let address = SocketAddress(text) else { throw .malformedAddress(text) }
        let type = clinux_stream | clinux_close_on_exec | clinux_nonblocking
        let descriptor = socket(address.family, type, 0)
        guard descriptor >= 0 else { throw .cannotListen(address: text, reason: reason(errno)) }
        var yes: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, size)
        if address.family == AF_INET6 {
            setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &yes, size)
        }
        guard address.withPointer({ bind(descriptor, $0, $1) }) == 0, listen(descriptor, 1024) == 0 else {
            let number = errno
            close(descriptor)
            throw .cannotListen(address: text, reason: reason(number))
        }
        return descriptor
    }

    private static func reason(_ number: Int32) -> String {
        switch number {
        case EADDRINUSE: "the address is in use by another process"
        case EACCES: "no permission for this port; ports below 1024 need CAP_NET_BIND_SERVICE"
        case EADDRNOTAVAIL: "this host does not have the address"
        default: String(cString: strerror(number))
        }
    }

    /// Lets the process have this many open files if the system allows it.
    static func allowDescriptors(_ count: Int) {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        guard limit.rlim_cur < rlim_t(count) else { return }
        limit.rlim_cur = min(limit.rlim_max, rlim_t(count))
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
