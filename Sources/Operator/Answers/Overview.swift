import Base
import Database

/// A number that is counted up to a limit.
package struct CappedCount: Sendable, Equatable {
    package static let cap: Int64 = 10_000

    package let value: Int64
    package var isCapped: Bool { value >= CappedCount.cap }

    package init(_ counted: Int64) { value = min(counted, CappedCount.cap) }

    package var json: JSON { .object(["value": .int(value), "is_capped": .bool(isCapped)]) }
}

/// What needs an operator.
package struct DeskFinding: DeskAnswer, Equatable {
    package enum Level: String, Sendable, CaseIterable, Comparable {
        case error, warning

        package static func < (a: Level, b: Level) -> Bool { a == .error && b == .warning }
    }

    package let level: Level
    /// What it is about, as doctor names its checks: `work.workers`.
    package let name: String
    package let text: String
    /// Where more of it is shown.
    package let section: DeskSection
    /// Of the row there, such as an endpoint; nil: the whole list.
    package let id: String?

    package init(_ level: Level, _ name: String, _ text: String, section: DeskSection, id: String? = nil) {
        self.level = level
        self.name = name
        self.text = text
        self.section = section
        self.id = id
    }

    package var json: JSON {
        .object([
            "level": .string(level.rawValue), "name": .string(name), "text": .string(text),
            "section": .string(section.rawValue), "id": .text(id),
        ])
    }
}

/// The installation at a glance. Instants are in ms since 1970.
package struct Overview: DeskAnswer {
    package struct Source: Sendable, Equatable {
        package let app: String
        package let environment: StoreEnvironment
        /// When Apple's newest notification came; nil: it is not among the newest of any lane, or older than 45 days.
        package let lastReceived: Int64?
    }

    /// Notifications that are not applied yet, of one lane.
    package struct WaitingLane: Sendable, Equatable {
        package let lane: Int64
        package let pending: DeskCount
        /// When the oldest of them came.
        package let oldest: Int64

        /// In one lane so many are counted.
        package static let cap: Int64 = 400
        /// So many lanes are named.
        package static let most = 10

        var json: JSON {
            .object(["lane": .int(lane), "pending": pending.json, "oldest_at": .date(oldest)])
        }
    }

    package let now: Int64
    package let findings: [DeskFinding]
    package let sources: [Source]
    /// When the oldest notification came that is not applied yet.
    package let oldestPending: Int64?
    package let pending: DeskCount
    /// Lanes in which notifications wait; those with the most of them first.
    package let waitingLanes: [WaitingLane]
    package let held: CappedCount
    package let duePending: CappedCount
    package let heldDeliveries: CappedCount
    /// Ids of endpoints that fail; empty for roles that do not see endpoints.
    package let failingEndpoints: [String]
    package let openRefunds: CappedCount
    package let nextRefundDeadline: Int64?
    package let runningJobs: CappedCount
    package let workers: Int64
    package let ownedLanes: Int64
    package let lanes: Int64

    package var json: JSON {
        .object([
            "findings": .array(findings.map(\.json)),
            "notifications": .object([
                "sources": .array(
                    sources.map {
                        .object([
                            "app": .string($0.app), "environment": .string($0.environment.rawValue),
                            "last_received_at": .date($0.lastReceived),
                        ])
                    }),
                "oldest_pending_at": .date(oldestPending), "pending": pending.json,
                "lanes": .array(waitingLanes.prefix(WaitingLane.most).map(\.json)), "held": held.json,
            ]),
            "deliveries": .object(["pending": duePending.json, "held": heldDeliveries.json]),
            "failing_endpoints": .strings(failingEndpoints),
            "refunds": .object(["open": openRefunds.json, "next_deadline": .date(nextRefundDeadline)]),
            "jobs": .object(["running": runningJobs.json]),
            "workers": .object(["alive": .int(workers), "lanes_owned": .int(ownedLanes), "lanes": .int(lanes)]),
        ])
    }
}

/// The workers that are alive. Instants are in ms since 1970.
package struct WorkersAnswer: DeskAnswer {
    package struct Worker: Sendable, Equatable {
        /// 32 hexadecimal digits.
        package let id: String
        package let host: String
        package let seen: Int64
        package let lanes: Int64
    }

    /// A role of a process.
    package struct Process: Sendable, Equatable {
        package let process: RunningProcess
        /// Whether processes of the same version work by another configuration; nil: unknown.
        package let differs: Bool?

        package init(_ process: RunningProcess, differs: Bool?) {
            self.process = process
            self.differs = differs
        }

        var json: JSON {
            .object([
                "id": .string(Hex.encode(process.id)), "role": .string(process.role), "host": .string(process.host),
                "version": .text(process.version), "started_at": .date(process.started), "seen_at": .date(process.seen),
                "configuration": .text(process.configuration?.text), "differs": differs.map { .bool($0) } ?? .null,
            ])
        }
    }

    package let workers: [Worker]
    package let lanes: Int64
    /// The roles of all processes, workers included.
    package let processes: [Process]

    package var json: JSON {
        .object([
            "items": .array(
                workers.map {
                    .object([
                        "id": .string($0.id), "host": .string($0.host), "seen_at": .date($0.seen),
                        "lanes": .int($0.lanes),
                    ])
                }), "lanes": .int(lanes), "processes": .array(processes.map(\.json)),
        ])
    }
}
