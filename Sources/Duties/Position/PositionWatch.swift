import Daemon
import Database
import Postgres

/// The furthest that this process, and others on its host, have seen the database to be; and the guard at new connections
/// against a database that is another one, or behind.
package final class PositionWatch: Sendable {
    package typealias Sighting = SightingFile.Sighting

    private let file: SightingFile?
    private let isReadOnly: Bool
    private let state: Monitor<Sighting?>
    /// Held while the file is written, so that the newest is written last.
    private let writing = Monitor(())
    private let refused = Monitor<String?>(nil)
    /// Advances when a newer database is seen: older connections may lead to the one before.
    package let epoch = ConnectionEpoch()

    /// - Parameters:
    ///   - file: nil: what is seen ends with the process.
    ///   - isReadOnly: for commands, whose user may be another one than that of the processes.
    package init(_ file: SightingFile?, isReadOnly: Bool = false) {
        self.file = file
        self.isReadOnly = isReadOnly
        state = Monitor(file?.read())
    }

    /// Nil before the first sighting.
    package var seen: Sighting? { state.read { $0 } }

    /// Whether `entitled restore` made the database, and no leader has seen it yet.
    package var isRestored: Bool { seen?.isRestored ?? false }

    /// The greatest number that was seen of this installation; 0: none.
    package func number(of installation: String) -> Int64 {
        seen.flatMap { $0.installation == installation ? $0.number : nil } ?? 0
    }

    /// Takes over what another process of the host has seen since.
    package func readFile() {
        guard let file, let found = file.read(logger: .silent), !found.isRestored else { return }
        state.change { seen in
            guard let known = seen else {
                seen = found
                return
            }
            guard found.installation == known.installation, !known.isAhead(of: found) else { return }
            if found.isAhead(of: known) {
                epoch.advance()
            } else if found.number <= known.number {
                return
            }
            seen = found
        }
    }

    /// The database has committed this number.
    package func saw(_ number: Int64, of installation: String, at position: DatabasePosition?, adoption: Int64 = 0) {
        change { seen in
            var new = Sighting(
                installation: installation, number: number, position: position, adoption: adoption)
            guard let seen, seen.installation == installation else { return new }
            new.number = max(number, seen.number)
            new.adoption = max(adoption, seen.adoption)
            // An old connection may have told less.
            if let former = seen.position, adoption <= seen.adoption,
                position.map({ $0.cluster != former.cluster || $0.timeline < former.timeline }) ?? true
            {
                new.position = former
            }
            return new
        }
    }

    private func change(_ body: (Sighting?) -> Sighting) {
        let isNew = state.change { seen in
            let new = body(seen)
            guard new != seen else { return false }
            if let seen, new.isAhead(of: seen) { epoch.advance() }
            seen = new
            return true
        }
        guard isNew, !isReadOnly, let file else { return }
        writing.change { _ in
            if let seen { file.write(seen) }
        }
    }

    // MARK: - New connections

    /// Why the database was refused at last; nil: it was not, or a right one was found since.
    package var refusal: String? { refused.read { $0 } }

    /// Refuses the database of a new connection, before anything is written to it and whatever its schema is; remembers one
    /// that is accepted.
    ///
    /// - Throws: `PostgresRefusal`, or what reading threw.
    package func admit(_ connection: PostgresConnection) throws {
        do {
            try check(connection)
            refused.change { $0 = nil }
        } catch let refusal as PostgresRefusal {
            refused.change { $0 = "\(refusal)" }
            throw refusal
        }
    }

    private func check(_ connection: PostgresConnection) throws {
        // A new host takes what it finds, and the duty or the reader will note it.
        guard let seen, let known = seen.position, let found = try DatabasePosition.read(on: connection) else { return }
        let isIt = found.cluster == known.cluster && found.timeline >= known.timeline
        guard let table = try PositionWatch.table(on: connection) else {
            guard isIt else { throw PostgresRefusal(connection, because: PositionWatch.difference(found, known)) }
            return
        }
        if table.adoption > seen.adoption {
            // The operator has decided; what was seen before is of another past.
            return change { _ in
                Sighting(
                    installation: table.installation, number: table.number, position: found, adoption: table.adoption)
            }
        }
        guard isIt, table.adoption == seen.adoption else {
            throw PostgresRefusal(connection, because: PositionWatch.difference(found, known))
        }
        if found.timeline > known.timeline { saw(0, of: table.installation, at: found, adoption: table.adoption) }
    }

    /// Nil where the schema or the role does not give it; both are checked after this.
    private static func table(on connection: PostgresConnection) throws -> PositionTable? {
        do {
            return try PositionTable.isThere(on: connection) ? try PositionTable.read(on: connection) : nil
        } catch let error as PostgresError where error.isForbidden || error.isUndefined {
            return nil
        }
    }

    private static func difference(_ found: DatabasePosition, _ known: DatabasePosition) -> String {
        let what =
            if found.cluster != known.cluster {
                "it is the cluster \(found.cluster), and this host has seen \(known.cluster)"
            } else if found.timeline < known.timeline {
                "it is on timeline \(found.timeline) of cluster \(found.cluster), and this host has seen timeline "
                    + "\(known.timeline)"
            } else {
                "it is the cluster \(found.cluster) of before an adoption"
            }
        return what + "; if it is the right one, run `entitled migrate --adopt-database`"
    }
}

extension SightingFile.Sighting {
    /// Whether it is of a newer database than the other one.
    fileprivate func isAhead(of other: Self) -> Bool {
        guard adoption == other.adoption else { return adoption > other.adoption }
        guard let position, let former = other.position, position.cluster == former.cluster else { return false }
        return position.timeline > former.timeline
    }
}
