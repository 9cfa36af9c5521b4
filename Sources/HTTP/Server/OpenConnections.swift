/// The connections of a server between accept and close, and how many of them each address has.
struct OpenConnections {
    private(set) var all: [ObjectIdentifier: HTTPConnection] = [:]
    private var counts: [PeerAddress: Int] = [:]

    var count: Int { all.count }

    func count(of peer: PeerAddress) -> Int { counts[peer] ?? 0 }

    mutating func add(_ connection: HTTPConnection) {
        guard all.updateValue(connection, forKey: ObjectIdentifier(connection)) == nil, let peer = connection.peer
        else {
            return
        }
        counts[peer, default: 0] += 1
    }

    mutating func remove(_ connection: HTTPConnection) {
        guard all.removeValue(forKey: ObjectIdentifier(connection)) != nil, let peer = connection.peer else { return }
        let left = count(of: peer) - 1
        counts[peer] = left > 0 ? left : nil
    }
}
