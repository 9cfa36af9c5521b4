import Glibc

/// A place in the work of a process where a test lets it die, or stand still.
///
/// For tests only. `ENTITLED_FAIL_POINT=name[:n][:late|:stop]`, read once, makes the process kill itself at its n-th pass
/// of that place without another word, as `kill -9` would at that moment; `late` lets other threads get on for a moment
/// before that, so that what they were given too early gets out; with `stop` it stands still until SIGCONT.
/// Without the variable a pass is one comparison. Release builds carry it, so that what is tested is what runs: it allows
/// nothing more than setting the environment of a process allows anyway.
package enum FailPoint: String, Sendable, CaseIterable {
    case ingestBeforeInsert = "ingest.before-insert"
    /// Committed; no answer is on its way.
    case ingestAfterInsert = "ingest.after-insert"
    /// Some of a batch may have been answered.
    case ingestBeforeAnswer = "ingest.before-answer"
    case ingestAfterAnswer = "ingest.after-answer"
    /// What an app posted is written.
    case postBeforeCommit = "post.before-commit"
    /// It is committed, and no request waits for it yet.
    case postAfterCommit = "post.after-commit"
    /// What Apple says of the account of a purchase that was posted is written.
    case lookBeforeCommit = "look.before-commit"
    case lookAfterCommit = "look.after-commit"
    case applyAfterFence = "apply.after-fence"
    case applyAfterRead = "apply.after-read"
    /// Everything is written.
    case applyBeforeCommit = "apply.before-commit"
    case applyAfterCommit = "apply.after-commit"
    case deliverBeforeSend = "deliver.before-send"
    /// The consumer has answered.
    case deliverAfterSend = "deliver.after-send"
    case deliverBeforeRecord = "deliver.before-record"
    /// What waited for an arrival is freed; neither is committed.
    case deliverAfterRelease = "deliver.after-release"
    case deliverAfterRecord = "deliver.after-record"
    case leaseBeforeRenewal = "lease.before-renewal"
    case leaseAfterRenewal = "lease.after-renewal"
    case retentionBeforeMake = "retention.before-make"
    case retentionAfterMake = "retention.after-make"
    case retentionBeforeDrop = "retention.before-drop"
    case retentionAfterDrop = "retention.after-drop"
    /// A page of Apple's history is there.
    case historyBeforeCommit = "history.before-commit"
    case historyAfterCommit = "history.after-commit"
    /// The position of the database is raised, and what it says noted.
    case returnBeforeCommit = "return.before-commit"
    case returnAfterCommit = "return.after-commit"
    /// A step of a replay has put something in line.
    case replayBeforeCommit = "replay.before-commit"
    case replayAfterCommit = "replay.after-commit"
    /// A change of an operator's is done and on record; neither is committed.
    case changeBeforeCommit = "change.before-commit"
    case changeAfterCommit = "change.after-commit"
    /// A step of a change of many rows is done, and where it ends is on record; neither is committed.
    case bulkBeforeCommit = "bulk.before-commit"
    case bulkAfterCommit = "bulk.after-commit"
    /// A part of what Apple answered to an operator is written, with how far the question is; neither is committed.
    case inquiryBeforeCommit = "inquiry.before-commit"
    case inquiryAfterCommit = "inquiry.after-commit"
    /// A row of an imported file is written.
    case importBeforeCommit = "import.before-commit"
    case importAfterCommit = "import.after-commit"
    /// A customer is deleted, and what is stored about them is not swept.
    case deletionAfterCommit = "deletion.after-commit"
    /// A part of what is stored about a customer is redacted.
    case erasureBeforeCommit = "sweep.before-commit"
    case erasureAfterCommit = "sweep.after-commit"

    package static let variable = "ENTITLED_FAIL_POINT"

    /// What the variable asked for.
    struct Armed: Sendable, Equatable {
        let point: FailPoint
        let pass: Int
        let isLate: Bool
        let signal: Int32

        /// Nil for what names no place.
        init?(_ text: String) {
            let parts = text.split(separator: ":", omittingEmptySubsequences: false)
            guard let name = parts.first, let point = FailPoint(rawValue: String(name)) else { return nil }
            var rest = parts.dropFirst()
            isLate = rest.last == "late"
            signal = rest.last == "stop" ? SIGSTOP : SIGKILL
            if isLate || signal == SIGSTOP { rest = rest.dropLast() }
            guard rest.count <= 1, let pass = rest.first.map({ Int($0) }) ?? 1, pass > 0 else { return nil }
            self.point = point
            self.pass = pass
        }
    }

    private static let armed = getenv(variable).flatMap { Armed(String(cString: $0)) }
    private static let passes = Monitor(0)
    /// Microseconds.
    private static let moment: UInt32 = 30_000

    /// Call where the process may die.
    package func pass() {
        guard let armed = FailPoint.armed, armed.point == self else { return }
        let count = FailPoint.passes.change { passes in
            passes += 1
            return passes
        }
        guard count == armed.pass else { return }
        if armed.isLate { usleep(FailPoint.moment) }
        kill(getpid(), armed.signal)
    }
}
