import Records

/// As much of a page as there is room for in line, and where to go on behind it.
struct ReplayPortion {
    /// Events whose delivery is over.
    private(set) var known: [DeliveryReplay.EventKey] = []
    /// Events without a delivery.
    private(set) var new: [DeliveryReplay.EventKey] = []
    let end: WalkPosition
    let isLast: Bool
    /// Meant and on their way already; meant and without a body.
    private var (waiting, gone) = (Int64(0), Int64(0))

    /// - Parameter room: one at least.
    init(of page: WalkPage<CandidateWalk.Candidate>, atMost room: Int) {
        var last: WalkPosition?
        for (candidate, position) in page.rows {
            switch candidate.standing {
            case .again where known.count + new.count < room: known.append(candidate.event)
            case .first where known.count + new.count < room: new.append(candidate.event)
            case .again, .first:
                (end, isLast) = (last ?? page.end, false)
                return
            case .waits: waiting += 1
            case .gone: gone += 1
            case .other: break
            }
            last = position
        }
        (end, isLast) = (page.end, page.isLast)
    }

    /// What it comes to, by what was put in line, and what had lost its body when it was to be.
    func counts(_ put: (queued: Int, gone: Int)) -> JobCounts {
        JobCounts(
            matched: waiting + Int64(known.count + new.count - put.gone), queued: Int64(put.queued),
            skipped: gone + Int64(put.gone))
    }
}
