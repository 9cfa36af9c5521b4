import Base
import HTTP

/// Something that goes wrong with requests, or with deliveries, on demand.
package struct StoreFault: Sendable, Equatable {
    package enum Kind: String, Sendable, CaseIterable {
        /// 429; `seconds`: when to come again, told as a time in milliseconds.
        case rateLimited = "rate_limited"
        /// 500 with 5000001.
        case error
        /// 502 without JSON, as a proxy answers.
        case badGateway = "bad_gateway"
        /// 401 without a body.
        case unauthorized
        /// 404 with 4040010.
        case notFound = "not_found"
        /// 200 with a body that is no JSON.
        case garbage
        /// The right answer after `seconds`.
        case slow
        /// The connection is reset.
        case reset
        /// 503 for `seconds` from now on.
        case outage
        /// No notification arrives for `seconds` from now on.
        case undelivered
    }

    package var kind: Kind
    /// Nil: as often as it is asked.
    package var times: Int?
    /// How often it happens, of a hundred.
    package var percent: Int
    /// Only where the path contains it.
    package var path: String
    package var seconds: Double

    package init(_ kind: Kind, times: Int? = nil, percent: Int = 100, path: String = "", seconds: Double = 2) {
        self.kind = kind
        self.times = times
        self.percent = percent
        self.path = path
        self.seconds = seconds
    }

    /// `{"kind":"rate_limited","times":1,"percent":100,"path":"/history","seconds":2}`; all but the kind may be left out.
    init?(_ json: JSON) {
        guard let kind = json["kind"]?.stringValue.flatMap(Kind.init) else { return nil }
        self.init(kind)
        times = json["times"]?.intValue.map { Int(clamping: $0) }
        percent = json["percent"]?.intValue.map { Int(clamping: $0) } ?? 100
        path = json["path"]?.stringValue ?? ""
        if case .double(let value)? = json["seconds"] { seconds = value }
        if let value = json["seconds"]?.intValue { seconds = Double(value) }
        guard (0...100).contains(percent), times ?? 1 > 0, (0...86400).contains(seconds) else { return nil }
        if times == nil, !isWindow, json["percent"] == nil { times = 1 }
    }

    /// `KIND`, `KIND:PERCENT`, `KIND:PERCENT@PATH`, as on a command line.
    init?(text: String) {
        let parts = text.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
        let head = parts[0].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let kind = Kind(rawValue: String(head[0])), kind != .outage, kind != .undelivered else { return nil }
        self.init(kind, path: parts.count > 1 ? String(parts[1]) : "")
        if head.count > 1 {
            guard let percent = Int(head[1]), (0...100).contains(percent) else { return nil }
            self.percent = percent
        }
    }

    /// Whether it is over by time and not by number.
    var isWindow: Bool { kind == .outage || kind == .undelivered }

    /// What is answered in place of the right answer; nil for what only delays it.
    func response(at now: Int64) -> HTTPResponse? {
        switch kind {
        case .rateLimited:
            var response = StoreRejection(4_290_000).response
            response.headers.append(("Retry-After", "\(now &+ Int64(seconds * 1000))"))
            return response
        case .error: return StoreRejection(5_000_001).response
        case .badGateway: return .text(502, "<html>Bad Gateway</html>", type: "text/html")
        case .unauthorized: return HTTPResponse(status: 401)
        case .notFound: return StoreRejection(4_040_010).response
        case .garbage: return .text(200, "{\"signedTransactions\":[\"", type: "application/json")
        case .reset: return .reset
        case .outage: return HTTPResponse(status: 503)
        case .slow, .undelivered: return nil
        }
    }
}

/// The faults that are asked for, first come first served.
struct FaultQueue {
    private var faults: [(fault: StoreFault, ends: Int64)] = []
    private var random: SeededRandom

    init(_ faults: [StoreFault], seed: UInt64) {
        self.faults = faults.map { ($0, .max) }
        random = SeededRandom(seed: seed, stream: 0x6661_756C)
    }

    mutating func add(_ fault: StoreFault, at now: Int64) {
        faults.append((fault, fault.isWindow ? now &+ Int64(fault.seconds * 1000) : .max))
    }

    mutating func clear() {
        faults = []
    }

    /// What spoils a request to this path.
    mutating func take(_ path: String, at now: Int64) -> StoreFault? {
        faults.removeAll { $0.ends <= now }
        for index in faults.indices {
            let fault = faults[index].fault
            guard fault.kind != .undelivered, fault.path.isEmpty || path.contains(fault.path),
                fault.percent == 100 || random.chance(fault.percent)
            else { continue }
            if let times = fault.times {
                faults[index].fault.times = times - 1
                if times <= 1 { faults.remove(at: index) }
            }
            return fault
        }
        return nil
    }

    /// Whether nothing arrives now.
    func isUndelivered(at now: Int64) -> Bool {
        faults.contains { $0.fault.kind == .undelivered && now < $0.ends }
    }
}
