import Glibc

/// Listening sockets that the process was started with, as systemd's socket units pass them (sd_listen_fds(3)).
package struct InheritedSockets: Sendable {
    package struct Socket: Sendable, Equatable {
        package let descriptor: Int32
        /// `FileDescriptorName` of the socket unit; its default is the unit's own name.
        package let name: String

        package init(descriptor: Int32, name: String) {
            self.descriptor = descriptor
            self.name = name
        }
    }

    /// Why the sockets cannot be used; whole sentences.
    package struct Unusable: Error, CustomStringConvertible, Equatable {
        package let description: String
    }

    package let all: [Socket]

    private static let first: Int32 = 3
    private static let most: Int32 = 64

    package init(_ all: [Socket]) {
        self.all = all
    }

    /// - Parameter environment: `LISTEN_PID`, `LISTEN_FDS` and `LISTEN_FDNAMES`; none, or those of another process: there
    ///   are no sockets.
    package init(environment: [String: String], process: Int32 = getpid()) throws(Unusable) {
        guard let given = environment["LISTEN_PID"], Int32(given) == process,
            let count = environment["LISTEN_FDS"].flatMap({ Int32($0) }), count > 0
        else {
            all = []
            return
        }
        guard count <= InheritedSockets.most else {
            throw Unusable(description: "LISTEN_FDS is \(count); at most \(InheritedSockets.most) sockets are taken.")
        }
        let names = (environment["LISTEN_FDNAMES"] ?? "").split(separator: ":", omittingEmptySubsequences: false)
        var found: [Socket] = []
        for place in 0..<Int(count) {
            let descriptor = InheritedSockets.first + Int32(place)
            let name = place < names.count ? String(names[place]) : ""
            guard InheritedSockets.option(SO_ACCEPTCONN, of: descriptor) == 1,
                [AF_INET, AF_INET6].contains(InheritedSockets.option(SO_DOMAIN, of: descriptor) ?? -1)
            else {
                throw Unusable(
                    description:
                        "The inherited file descriptor \(descriptor) (\"\(name)\") is no listening TCP socket: the socket"
                        + " unit needs ListenStream with an address and port, and Accept=no.")
            }
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
            found.append(Socket(descriptor: descriptor, name: name))
        }
        all = found
    }

    /// Children must not take the sockets for theirs. Call it before any thread is started.
    package static func clearEnvironment() {
        for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] { unsetenv(name) }
    }

    /// The descriptor of each of these listeners that has one.
    ///
    /// A socket belongs to the listener that it names: `ingest`, `ingest.socket`, `entitled-ingest` or
    /// `entitled-ingest.socket`. A single socket with another name is the first listener's.
    package func assigned(to listeners: [String]) throws(Unusable) -> [String: Int32] {
        if all.count == 1, let first = listeners.first, listener(of: all[0].name, among: listeners) == nil {
            return [first: all[0].descriptor]
        }
        var assigned: [String: Int32] = [:]
        for socket in all {
            guard let listener = listener(of: socket.name, among: listeners) else {
                throw Unusable(
                    description:
                        "The process has no listener for the inherited socket \"\(socket.name)\": FileDescriptorName of"
                        + " its unit has to be one of \(listeners.joined(separator: ", ")).")
            }
            guard assigned.updateValue(socket.descriptor, forKey: listener) == nil else {
                throw Unusable(
                    description:
                        "Two inherited sockets are meant for the listener \(listener), which takes one: [::]:PORT with"
                        + " BindIPv6Only=both accepts IPv4 as well.")
            }
        }
        return assigned
    }

    private func listener(of name: String, among listeners: [String]) -> String? {
        var name = name[...]
        if name.hasPrefix("entitled-") { name = name.dropFirst("entitled-".count) }
        if name.hasSuffix(".socket") { name = name.dropLast(".socket".count) }
        return listeners.first { $0 == name }
    }

    private static func option(_ option: Int32, of descriptor: Int32) -> Int32? {
        var value: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(descriptor, SOL_SOCKET, option, &value, &size) == 0 ? value : nil
    }
}
