import Database

/// As much of a page as there is room for in line, and where to go on behind it.
struct ReplayBatch {
    typealias Row = (row: CandidateScan.Candidate, position: ScanCursor)

    private(set) var known: [DeliveryReplay.Ended] = []
    /// Events without a delivery.
    private(set) var new: [DeliveryReplay.EventKey] = []
    private(set) var end: ScanCursor
    private(set) var isLast: Bool
    /// Meant and on their way already; meant and without a body.
    private var (waiting, gone) = (Int64(0), Int64(0))

    /// - Parameters:
    ///   - room: one at least.
    ///   - isTogether: whether what was made at once in one lane is taken together, more than the room if need be: of a
    ///     purchase the first is to go first, and a page is not in that order.
    init(of page: ScanPage<CandidateScan.Candidate>, atMost room: Int, isTogether: Bool = false) {
        (end, isLast) = (page.end, page.isLast)
        var rest = page.rows[...]
        // Behind where a page was cut there may be more of the last ones.
        let isCut = page.rows.last.map { $0.position == page.end } ?? false
        var last: ScanCursor?
        while let first = rest.first {
            let group = isTogether ? rest.prefix { $0.position.isTogether(with: first.position) } : rest.prefix(1)
            let isBroken = isTogether && isCut && group.count == rest.count
            let size = group.count { $0.row.isQueued }
            if let last, isBroken || (size > 0 && known.count + new.count + size > room) {
                (end, isLast) = (last, false)
                return
            }
            for (candidate, _) in group { take(candidate) }
            last = group.last?.position
            rest = rest.dropFirst(group.count)
        }
    }

    private mutating func take(_ candidate: CandidateScan.Candidate) {
        switch candidate {
        case .again(let delivery, _): known.append(delivery)
        case .first(let event, _): new.append(event)
        case .waits: waiting += 1
        case .gone: gone += 1
        case .other: break
        }
    }

    /// Those of what is put in line.
    var lanes: Set<Lane> { Set(known.map(\.id.lane) + new.map(\.lane)) }

    /// What it comes to, by what was put in line, and what had lost its body when it was to be.
    func counts(_ put: (queued: Int, gone: Int)) -> JobCounts {
        JobCounts(
            matched: waiting + Int64(known.count + new.count - put.gone), queued: Int64(put.queued),
            skipped: gone + Int64(put.gone))
    }
}

extension CandidateScan.Candidate {
    fileprivate var isQueued: Bool {
        switch self {
        case .again, .first: true
        case .other, .gone, .waits: false
        }
    }
}

extension ScanCursor {
    fileprivate func isTogether(with other: ScanCursor) -> Bool { (time, lane) == (other.time, other.lane) }
}
