import Base
import CLI
import Database
import Postgres
import Schemas
import Subscriptions

/// Who works, and what waits.
enum WorkChecks {
    static let all = [
        Check("work.ingest") { context, connection in try ingest(context, connection) },
        Check("work.workers") { context, connection in try workers(context, connection) },
        Check("work.configuration") { context, connection in try ProcessChecks.configurations(context, connection) },
        Check("work.notifications") { context, connection in try pending(context, connection) },
        Check("work.diverted", reading: .worker) { context, connection in try diverted(context, connection) },
        Check("work.held") { _, connection in try held(connection) },
        Check("work.deliveries") { context, connection in try pastDue(context, connection) },
        Check("work.dead") { context, connection in try dead(context, connection) },
        Check("work.return") { context, connection in try databaseReturn(context, connection) },
        Check("work.refunds") { context, connection in try refunds(context, connection) },
    ]

    private static let every = Lane.all
    private static let counted = 1000

    private static let heard = """
        SELECT max(minute) * 60000 AS last_ms, floor(extract(epoch FROM clock_timestamp()) * 1000)::int8 AS now_ms
        FROM entitled.listening
        """

    /// By the server's clock, as the minutes are noted.
    private static func ingest(_ context: CheckContext, _ connection: PostgresConnection) throws -> [Finding] {
        let row = try connection.query(heard).one()
        let now = try row.int("now_ms")
        guard let last = try row.optionalInt("last_ms") else {
            return [
                .error(
                    "no ingest process has ever used this database, so no notification arrives",
                    "start `entitled ingest`")
            ]
        }
        guard now - last < WorkPatience.ingest else {
            return [
                .error(
                    "no ingest process could store notifications for \(RelativeTime.text(now - last))",
                    "start `entitled ingest`, or read its log")
            ]
        }
        let outages = try IngestUptime.outages(now: now, on: connection).filter { $0.upperBound > now - 7 * 86_400_000 }
        guard let latest = outages.last else { return [.ok("ingest stores what comes")] }
        let length = RelativeTime.text(latest.upperBound - latest.lowerBound)
        return [
            .warning(
                "ingest stores notifications again, but stored none for \(length) from"
                    + " \(Timestamp.text(latest.lowerBound))",
                "Apple repeats the notifications of that time within a week, but not those of the sandbox")
        ]
    }

    private static let living = """
        SELECT count(*) AS workers FROM entitled.worker WHERE seen_at > clock_timestamp() - $1 * interval '1 millisecond'
        """
    private static let owned = """
        SELECT count(*) FILTER (WHERE lease_until >= clock_timestamp()) AS owned, count(*) AS lanes FROM entitled.lane
        """

    private static func workers(_ context: CheckContext, _ connection: PostgresConnection) throws -> [Finding] {
        // A lease that was renewed a moment too late is taken again at once.
        let workers = try connection.query(living, [.int8(2 * context.configuration.worker.lease.milliseconds)]).one()
            .int("workers")
        let row = try connection.query(owned).one()
        let (owned, lanes) = (try row.int("owned"), try row.int("lanes"))
        guard workers > 0 else {
            return [.error("no worker is alive: notifications are stored, but not applied", "start `entitled worker`")]
        }
        let count = workers == 1 ? "1 worker" : "\(workers) workers"
        guard owned == lanes else {
            return [
                .warning(
                    "\(count), but \(lanes - owned) of \(lanes) lanes have no worker",
                    "repeat the check in a moment; if the finding stays, read the workers' logs")
            ]
        }
        return [.ok("\(count), all \(lanes) lanes are owned")]
    }

    private static func pending(_ context: CheckContext, _ connection: PostgresConnection) throws -> [Finding] {
        guard let oldest = try PendingNotification.oldest(in: every, on: connection) else {
            return [.ok("no notification waits to be applied")]
        }
        let age = context.clock.now() - SequenceGenerator.instant(of: oldest)
        let message = "the oldest notification that is not applied yet has waited for \(RelativeTime.text(age))"
        guard age > WorkPatience.notification else { return [.ok(message)] }
        var (named, logs) = (message, "look at the workers' logs")
        do {
            let purchases = try WaitingPurchase.longest(
                from: oldest, arrivedBefore: context.clock.now() - WorkPatience.notification, atMost: 3, on: connection)
            if !purchases.isEmpty {
                named += "; purchases that wait: \(purchases.map(describe).joined(separator: ", "))"
                logs += " for these purchases"
            }
        } catch {
            // That something waits has to be said also where the database is too busy to say for what.
            named += "; which purchases wait could not be read: \(error)"
        }
        let action = logs + ", and whether there are enough workers"
        return [age > WorkPatience.lateNotification ? .error(named, action) : .warning(named, action)]
    }

    private static func describe(_ purchase: WaitingPurchase) -> String {
        let key = purchase.key
        let facts =
            switch purchase.facts {
            case 0: "without facts"
            case 1: "with 1 fact"
            case WaitingPurchase.countedFacts...: "with \(purchase.facts) facts or more"
            default: "with \(purchase.facts) facts"
            }
        let isUnfolded = !purchase.isFolded && purchase.facts >= PurchaseFoldTable.leastRows
        return "\(key.originalTransactionID) of \(key.app) in \(key.environment.rawValue) since "
            + "\(Timestamp.text(purchase.since)), \(facts)" + (isUnfolded ? " that are not folded yet" : "")
    }

    private static func diverted(_ context: CheckContext, _ connection: PostgresConnection) throws -> [Finding] {
        guard try DivertedNotifications.isThere(on: connection),
            let oldest = try DivertedNotifications.oldest(on: connection)
        else {
            return [.ok("the log has every notification that was accepted")]
        }
        let age = context.clock.now() - oldest
        let message =
            "notifications were accepted while the log could not be written, and it does not have them yet; the first one came"
            + " \(RelativeTime.text(age)) ago"
        guard age > WorkPatience.lateNotification else { return [.ok(message)] }
        return [.warning(message, "read the log of the worker that leads, for \"diverted notifications not appended\"")]
    }

    private static let needAPerson = """
        SELECT count(*) FILTER (WHERE next_ms IS NULL) AS abandoned, count(*) FROM (
            SELECT next_ms FROM entitled.held_notification LIMIT $1
        ) h
        """

    private static func held(_ connection: PostgresConnection) throws -> [Finding] {
        let row = try connection.query(needAPerson, [.int8(Int64(counted))]).one()
        let (abandoned, all) = (try row.int("abandoned"), try row.int("count"))
        guard all > 0 else { return [.ok("no notification is held")] }
        let number = all == counted ? "at least \(all)" : "\(all)"
        let rest = abandoned > 0 ? ", \(abandoned) of them are not retried" : ", and retried"
        return [
            .warning(
                "\(number) held, because applying them failed\(rest)",
                "entitled notifications list --state held; then `entitled notifications reprocess UUID`")
        ]
    }

    private static func pastDue(_ context: CheckContext, _ connection: PostgresConnection) throws -> [Finding] {
        let now = context.clock.now()
        let late = try DeliveryTable.pastDue(
            in: every, before: now - 5 * 60_000, now: now, eachAtMost: 20, on: connection)
        guard late > 0 else { return [.ok("no webhook is late")] }
        return [
            .warning(
                "overdue by more than five minutes: at least \(Int(late).counted("webhook"))",
                "check the workers, and how long consumers take to answer")
        ]
    }

    private static let dead = """
        SELECT count(*) FROM (
            SELECT 1 FROM entitled.delivery WHERE created_ms >= $1 AND state = \(DeliveryCode.dead) LIMIT $2
        ) d
        """

    private static func dead(_ context: CheckContext, _ connection: PostgresConnection) throws -> [Finding] {
        let since = context.clock.now() - 14 * 86_400_000
        let found = try connection.query(dead, [.int8(since), .int8(Int64(counted))]).one().int("count")
        guard found > 0 else { return [.ok("no webhook of the last 14 days was given up")] }
        let webhooks = (found == counted ? "at least " : "") + Int(found).counted("webhook")
        return [
            .warning(
                "\(webhooks) of the last 14 days \(found == 1 ? "was" : "were") given up",
                "entitled deliveries list --state dead; then `entitled deliveries resend ID`")
        ]
    }

    /// Only of apps whose requests are to be answered.
    private static func refunds(_ context: CheckContext, _ connection: PostgresConnection) throws -> [Finding] {
        let answering = context.configuration.refundApps
        let now = context.clock.now()
        let open = try RefundRequestTable.list(openAt: now, atMost: counted, on: connection).map(\.request)
            .filter { answering.contains($0.key.purchase.app) }
        guard let first = open.map(\.deadline).min() else { return [.ok("no consumption request is open")] }
        let message =
            "Apple waits for \(open.count) answers about refunds, for the first one \(RelativeTime.text(first - now)) more"
        guard first - now < WorkPatience.refundAnswer else { return [.ok(message)] }
        return [.warning(message, "entitled refunds list --open; then `entitled refunds answer TRANSACTION-ID`")]
    }

    /// A database that went back to an earlier state, until Apple's history is scanned.
    private static func databaseReturn(
        _ context: CheckContext, _ connection: PostgresConnection
    ) throws -> [Finding] {
        guard try PositionTable.isThere(on: connection) else { return [] }
        guard let progress = try ReturnProgress.read(on: connection) else {
            return [.ok("the database has not gone back to an earlier state")]
        }
        return [
            .warning(progress.text, "wait until the scans have ended; apply the journal (Backup.md, After a restore)")
        ]
    }
}
