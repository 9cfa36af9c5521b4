/// Statements that break a rule of a cluster by their texts and may: which of them are right there for a reason that a text does not
/// show, and which questions ask every shard.
///
/// Each line is a declaration with its faults (`StatementFault`). A line that is not needed any more fails the test, so that the list
/// stays true.
enum StatementExceptions {
    /// The file of each list, the declarations in it, and their faults.
    static func all() throws -> [String: [String: Set<StatementFault>]] {
        try read([apart, asked].joined(separator: "\n"))
    }

    /// Those of them that ask every shard.
    static func questions() throws -> [String: [String: Set<StatementFault>]] { try read(asked) }

    private static func read(_ list: String) throws -> [String: [String: Set<StatementFault>]] {
        var (all, file) = ([String: [String: Set<StatementFault>]](), "")
        for line in list.split(separator: "\n") {
            guard !line.hasPrefix("#") else { continue }
            guard line.hasPrefix("    ") else {
                file = String(line)
                continue
            }
            let parts = line.split(separator: ":").map { $0.split(separator: " ").joined() }
            guard parts.count == 2 else { throw Unreadable(line: String(line)) }
            let faults = try parts[1].split(separator: ",").map { name in
                guard let fault = StatementFault(rawValue: String(name)) else { throw Unreadable(line: String(line)) }
                return fault
            }
            guard all[file, default: [:]].updateValue(Set(faults), forKey: parts[0]) == nil else {
                throw Unreadable(line: String(line))
            }
        }
        return all
    }

    struct Unreadable: Error {
        let line: String
    }

    static func line(_ faults: Set<StatementFault>) -> String {
        faults.isEmpty ? "nothing" : faults.map(\.rawValue).sorted().joined(separator: ", ")
    }

    /// What breaks a rule by its text and is right on a cluster: names that are no tables, a clock that is only read, tables on the coordinator, or of the lane that is named beside them, that
    /// the text does not name; local and distributed tables in parts that the coordinator runs one after the other; and
    /// statements that one Postgres alone is sent. Suites that run on a cluster show it.
    private static let apart = """
        Customers/Actions/CustomerActions+Delete
            removeRows: unnamed
        Customers/Deletion/PurchaseRedactor
            names: unnamed
        Customers/Export/CustomerExport
            rows: unnamed
        Customers/Export/PurchaseExport
            rows: unnamed
        Database/Customers/AccountDue
            noteAll: local
        Database/Deliveries/DeliveryOrder
            oldest: local
        Database/Deliveries/DeliveryRepair
            rows: local
        Database/Events/EventCopy
            select: local
        Database/Events/EventTable
            fresh: joined
        Database/Keys/SecretRewrap
            value: unnamed
        Database/Lanes/Fence
            take: clock
        Database/Queries/EventQuery
            named: joined
        Database/Queries/IntroductoryOfferQuery
            select: everyLane, local
        Database/Queries/OverviewQuery
            counts: everyLane, local
        Database/Reports/ReportTable
            delete: unnamed
            insert: unnamed
            texts: unnamed
        Duties/Replay/MissedEvents
            select: lateral
        Duties/Retention/BlockScan
            blocks: physical
            condition: unnamed
        Duties/Retention/ConsoleCleaner
            delete: unnamed
            tally: unnamed
        Duties/Retention/DayPartitions
            need: unnamed
            rows: unnamed
        Duties/Retention/RemovedEndpointCleaner
            old: everyLane, local
        Worker/Delivering/AttemptSpan
            failure: everyLane
        Worker/Lanes/LaneCycle+Report
            isFinal: everyLane
        """

    /// What operators ask, or is asked by a customer, an identifier or a time: on a cluster every shard answers, which is slower there, and
    /// right. Statements of one kind of fault only.
    private static let asked = """
        Customers/Export/PurchaseExport
            identifiers: everyLane
        Customers/Export/StoredNotifications
            select: everyLane
            selectPlaces: everyLane
        Database/Bulk/DeliveryBulk+Outcome
            outcome: everyLane
        Database/Bulk/DeliveryBulk+Scan
            oldest: everyLane
            part: everyLane
            places: everyLane
        Database/Bulk/NotificationBulk
            waiting: everyLane
        Database/Changes/ChangeVersions
            purchases: everyLane
        Database/Cluster/ClusterMember
            list: everyLane
        Database/Customers/AccountLookTable
            count: everyLane
            isDue: everyLane
            select: everyLane
            selectDue: everyLane
        Database/Customers/AccountTable
            selectWithoutClaims: everyLane
        Database/Deliveries/DeliveryOrder
            count: everyLane
        Database/Deliveries/DeliveryQuery
            all: everyLane
        Database/Deliveries/DeliveryReplay
            dueCount: everyLane
        Database/Deliveries/EndpointLatency
            last: everyLane
            select: everyLane
            selectAll: everyLane
        Database/Deliveries/HeldDeliveries
            few: everyLane
            held: everyLane
        Database/Journal/JournalStatements
            least: everyLane
        Database/Lanes/LaneGroups
            read: everyLane
        Database/Log/KnownNotifications
            select: joined
            selectPlaces: joined
        Database/Log/NotificationQuery
            columns: everyLane
            held: everyLane
            keys: everyLane
            names: everyLane
            source: everyLane
        Database/Log/NotificationRepair
            rows: everyLane
        Database/Log/PendingNotification
            counted: everyLane
        Database/Purchases/PurchaseFoldTable
            selectNext: everyLane
        Database/Purchases/StatusPollTable
            count: everyLane
            select: everyLane
        Database/Queries/CustomerQuery
            owners: everyLane
        Database/Queries/EventQuery
            all: everyLane
        Database/Queries/OverviewQuery
            newest: everyLane
            owned: everyLane
        Database/Queries/PurchaseQuery
            find: everyLane
            findEach: everyLane
            select: everyLane
        Database/Queries/WaitingPurchase
            select: everyLane
        Database/Refunds/RefundRequestTable
            lanes: everyLane
            select: everyLane
            selectPage: everyLane
            untold: everyLane
        Database/Reports/ReportOverview
            money: everyLane
        Database/Reports/ReportTable
            isAny: everyLane
        Duties/Replay/DeadLetterScan
            deliveries: everyLane
        Duties/Replay/EventScan
            columns: everyLane
        Duties/Retention/NotificationDeliveryCleaner
            tally: everyLane
        EntitledApp/Doctor/Checks/ClockChecks
            newest: everyLane
        EntitledApp/Doctor/Checks/EndpointChecks
            waiting: everyLane
        EntitledApp/Doctor/Checks/MoneyChecks
            sample: everyLane
        EntitledApp/Doctor/Checks/OwnerChecks
            remaining: everyLane
        EntitledApp/Doctor/Checks/WorkChecks
            dead: everyLane
            needAPerson: everyLane
            owned: everyLane
        EntitledApp/Doctor/NewestNotifications
            exact: everyLane
            sample: everyLane
        EntitledApp/Doctor/RoundTrip
            tests: everyLane
        Operator/Database/PurchaseScan
            select: everyLane
        """
}
