import Base
import Subscriptions

/// How a notification came to us.
package struct NotificationOrigin: Sendable, Equatable {
    /// Of the notification in the log; it holds when it came.
    package let seq: Int64
    package let source: NotificationSource

    package init(seq: Int64, source: NotificationSource) {
        self.seq = seq
        self.source = source
    }

    /// When it came, in ms.
    package var arrived: Int64 { SequenceGenerator.instant(of: seq) }

    /// Whether Apple sent it once; not where we asked, or an app posted.
    package var isSent: Bool { source.isSent }

    /// What happened longer ago than this when it was found in Apple's history is not sent, in ms.
    package static let oldest: Int64 = 7 * 86_400_000

    /// Whether the events of what happened at this instant, in ms, are kept for the record only: it was found in Apple's
    /// history, or posted by an app, too late for consumers to act on it, or was so when it was imported, and it was not asked
    /// to be sent.
    package func isForTheRecord(_ instant: Int64) -> Bool {
        switch source {
        case .history, .posted: instant < arrived - NotificationOrigin.oldest
        case .imported: instant <= arrived
        case .store, .historyToSend, .status, .importedToSend: false
        }
    }

    /// What was bought once is told of so long after it was posted, in ms (RevenueCat: StoreKit 2 one-time purchases).
    package static let oldestOnce: Int64 = 30 * 86_400_000

    /// The same for an event that this made.
    ///
    /// What an app restores may be years old, whenever Apple signed it: of that only what was bought or taken back lately
    /// is told, and the period that is running (RevenueCat: of a historical receipt the latest event).
    ///
    /// - Parameter signed: when it was signed, in ms.
    package func isForTheRecord(_ event: EventDraft, of purchase: Purchase, signed: Int64) -> Bool {
        // Apple signs what is asked for at that moment, a little later by its clock or earlier.
        if source == .imported { return true }
        guard source == .posted else { return isForTheRecord(signed) }
        let period = event.period
        let happened = max(period.transaction.purchaseDate, period.revocation?.date ?? .min)
        guard period.transaction.isRenewable else { return happened < arrived - NotificationOrigin.oldestOnce }
        guard isForTheRecord(happened) else { return false }
        return period.id != purchase.latest.id || !purchase.hasAccess(at: arrived)
    }

    /// The time in which it was under way, if Apple sent it in vain before. What we fetched ourselves tells nothing about
    /// what Apple sends.
    package func lateness(signed: Int64, in environment: StoreEnvironment) -> Range<Int64>? {
        source == .store ? ExpiryConfirmation.lateness(signed: signed, arrived: arrived, in: environment) : nil
    }
}
