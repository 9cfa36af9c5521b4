import Glibc

/// The names that this host's operator gave addresses to (hosts(5)). glibc finds them only without a final dot, and with
/// that it would also look into the search domains.
struct HostsFile {
    /// Bytes that are read of a file.
    private static let limit = 4 << 20

    private let path: String

    init(path: String = "/etc/hosts") {
        self.path = path
    }

    /// In the order of the file; none where the name is not in it, or the file cannot be read.
    func addresses(of name: String) -> [IPAddress] {
        var addresses: [IPAddress] = []
        for line in read().split(separator: 0x0a) {
            let words = line.prefix { $0 != UInt8(ascii: "#") }.split { $0 == 0x20 || $0 == 0x09 || $0 == 0x0d }
            guard let first = words.first, words.dropFirst().contains(where: { HostsFile.isSame($0, name) }),
                let address = IPAddress(parsing: String(decoding: first, as: UTF8.self)), !addresses.contains(address)
            else { continue }
            addresses.append(address)
        }
        return addresses
    }

    private static func isSame(_ word: ArraySlice<UInt8>, _ name: String) -> Bool {
        word.count == name.utf8.count && String(decoding: word, as: UTF8.self).lowercased() == name.lowercased()
    }

    private func read() -> [UInt8] {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return [] }
        defer { close(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while bytes.count < HostsFile.limit {
            let count = Glibc.read(file, &buffer, buffer.count)
            guard count > 0 else { break }
            bytes += buffer.prefix(count)
        }
        return bytes
    }
}
