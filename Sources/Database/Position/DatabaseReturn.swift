import Base

/// That the database went back to an earlier state, or may have.
package struct DatabaseReturn: Sendable, Equatable {
    /// How it was noticed.
    package enum Reason: String, Sendable, CaseIterable {
        /// A process has seen a greater number: transactions are lost.
        case number
        /// It is another cluster: a dump that was restored, or an upgrade of Postgres.
        case cluster
        /// The cluster began a timeline: a recovery to a point in time, or a standby that was promoted, which may have lost
        /// nothing.
        case timeline
        /// An operator adopted it.
        case adopted
        /// `entitled restore` made it from a backup.
        case restored
    }

    /// When it was noticed, in ms by the server's clock.
    package let at: Int64
    package let reason: Reason
    /// How far the number went back; 0 where that is not known.
    package let lost: Int64

    package init(at: Int64, reason: Reason, lost: Int64) {
        self.at = at
        self.reason = reason
        self.lost = lost
    }

    /// Nil where the database did not go back.
    ///
    /// - Parameters:
    ///   - seen: the greatest number that any process reports.
    ///   - position: where the database is; nil: the server does not tell.
    ///   - isRestored: whether this host made it from a backup.
    package init?(
        of table: PositionTable, seen: Int64, position: DatabasePosition?, isRestored: Bool = false, now: Int64
    ) {
        let lost = max(0, seen - table.number)
        if lost > 0 {
            self.init(at: now, reason: .number, lost: lost)
        } else if isRestored {
            self.init(at: now, reason: .restored, lost: 0)
        } else if table.isAdopted {
            self.init(at: now, reason: .adopted, lost: 0)
        } else if let former = table.position, let position, former != position {
            self.init(at: now, reason: former.cluster == position.cluster ? .timeline : .cluster, lost: 0)
        } else {
            return nil
        }
    }

    /// As operators are told.
    ///
    /// - Parameters:
    ///   - former: where the database was before, as far as it knows.
    ///   - position: where it is.
    ///   - places: of which apps and environments Apple's history is scanned.
    package func event(
        from former: DatabasePosition?, to position: DatabasePosition?, scanning places: [AppScope], number: Int64
    ) -> OperationsEvent {
        func spoken(_ position: DatabasePosition?) -> JSON {
            guard let position else { return .null }
            return .object([
                "system_identifier": .string(position.cluster), "timeline": .int(position.timeline),
            ])
        }
        return OperationsEvent(
            .databaseReturned, cause: "\(number) \(at)", at: at,
            data: .object([
                "reason": .string(reason.rawValue), "is_certain": .bool(reason == .number || reason == .restored),
                "positions_lost": .int(lost), "database": spoken(position), "former_database": spoken(former),
                "scanning_history_of": .array(
                    places.map {
                        .object(["app_id": .string($0.app), "environment": .string($0.environment.rawValue)])
                    }),
            ]))
    }
}
