import Records

/// As much of a page as there is room for in line, and where to go on behind it.
struct ReplayPortion {
    /// Events whose delivery is over.
    private(set) var known: [DeliveryReplay.EventKey] = []
    /// Events without a delivery.
    private(set) var new: [DeliveryReplay.EventKey] = []
    /// Deliveries of notifications as they came that are over.
    private(set) var notifications: [DeliveryID] = []
    let end: WalkPosition
    let isLast: Bool
    /// Meant and on their way already; meant and without a body.
    private var (waiting, gone) = (Int64(0), Int64(0))

    /// - Parameter room: one at least.
    init(of page: WalkPage<CandidateWalk.Candidate>, atMost room: Int) {
        var (last, free): (WalkPosition?, Int) = (nil, room)
        for (candidate, position) in page.rows {
            switch candidate.standing {
            case .again where free > 0:
                free -= 1
                if let notification = candidate.notification {
                    notifications.append(notification)
                } else {
                    known.append(candidate.event)
                }
            case .first where free > 0:
                free -= 1
                new.append(candidate.event)
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

    private var count: Int { known.count + new.count + notifications.count }

    /// What it comes to, by what was put in line, and what had lost its body when it was to be.
    func counts(_ put: (queued: Int, gone: Int)) -> JobCounts {
        JobCounts(
            matched: waiting + Int64(count - put.gone), queued: Int64(put.queued),
            skipped: gone + Int64(put.gone))
    }
}
