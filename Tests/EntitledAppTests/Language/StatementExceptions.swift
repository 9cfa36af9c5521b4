/// Statements that do not keep the rules of a cluster yet: what is left to be done before the program can run on one, and which
/// questions may ask every shard.
///
/// Each line is a declaration with its faults (`StatementFault`). A line that is not needed any more fails the test, so that the list
/// gets shorter and stays true.
enum StatementExceptions {
    /// The file of each list, the declarations in it, and their faults.
    static func all() throws -> [String: [String: Set<StatementFault>]] { try read(work + "\n" + asked) }

    /// Those of them that may stay.
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

    /// What is left to be done.
    private static let work = """
        # Lanes and the log
        Database/Lanes/Fence
            take: clock
        Database/Log/KnownNotifications
            select: joined
            selectPlaces: joined
        Database/Log/NotificationRepair
            rows: everyLane
        Database/Log/PendingNotification
            counted: lateral
            select: local
        # Facts and purchases
        Database/Purchases/PurchaseFoldTable
            selectNext: everyLane
            upsert: clock
        Database/Purchases/PurchaseTable
            selectOwned: everyLane
        Database/Purchases/PurchaseTable+Continuations
            selectContinuing: joined
        Database/Purchases/StatusPollTable
            count: everyLane
            select: everyLane
        Worker/Applying/PostedRepetitions
            forgetKeys: joined
        Worker/Delivering/AttemptSpan
            failure: everyLane
        Worker/Lanes/LaneCycle+Report
            isFinal: everyLane
        # Events and deliveries
        Database/Deliveries/AttemptQuery
            attempts: local
        Database/Deliveries/AttemptTable
            insert: local
        Database/Deliveries/DeliveryOrder
            count: lateral
            oldest: local
        Database/Deliveries/DeliveryQuery
            blocker: lateral
            ofEvents: joined
        Database/Deliveries/DeliveryRepair
            rows: local
        Database/Deliveries/DeliveryTable
        Database/Deliveries/EndpointLatency
            select: lateral
            selectAll: lateral
        Database/Deliveries/DeliveryReplay
            dueCount: lateral
        Database/Deliveries/HeldDeliveries
            few: lateral
            held: lateral
        Database/Deliveries/EventRepair
            keep: everyLane, lock
            selectReplayable: joined
        Database/Events/EventCopy
            select: everyLane, local
        Database/Events/EventTable
            fresh: joined
        # Customers and their accounts
        Customers/Actions/CustomerActions+Delete
            removeRows: unnamed
        Customers/Deletion/ChangeRedaction
            forgetHash: clock
            forgetHashes: clock
            updateJobs: clock
        Customers/Deletion/PurchaseRedactor
            deleteIdentifiers: everyLane
            deleteKeys: everyLane
            isOwner: everyLane
            names: unnamed
        Customers/Export/CustomerExport
            rows: unnamed
        Customers/Export/DeliveryExport
            select: local
        Customers/Export/PurchaseExport
            rows: unnamed
            selectEvents: joined
        Customers/Rebuild/PurchaseRebuild
            selectIdentifiers: joined
        Database/Customers/AccountDue
            insert: local
        Database/Customers/AccountTable
            selectMembers: everyLane
            selectWithoutClaims: everyLane
        Database/Customers/OwnerSettingTable
            insert: clock
        Database/Refunds/RefundRequestTable
            answerAll: everyLane
            claim: everyLane, lock
            select: everyLane
            selectPage: everyLane
            tell: everyLane
            untold: everyLane
            warn: everyLane
        # Duties
        Database/Journal/JournalStatements
            least: everyLane
        Database/Keys/SecretRewrap
            value: unnamed
        Database/Reports/ReportTable
            delete: unnamed
            deleteGone: everyLane
            finish: everyLane, local
            insert: unnamed
            selectDue: everyLane
        Duties/Replay/MissedEvents
            select: lateral
        Duties/Retention/BlockScan
            count: physical
        Duties/Retention/ConsoleCleaner
            delete: physical, unnamed
            tally: unnamed
        Duties/Retention/DayPartitions
            list: physical
            need: lateral, unnamed
            rows: unnamed
        Duties/Retention/EventCleaner
            old: everyLane, physical
        Duties/Retention/KeyCleaner
            clean: everyLane, physical
            count: everyLane, physical
        Duties/Retention/NotificationDeliveryCleaner
            clean: everyLane
            tally: everyLane
        Duties/Retention/RemovedEndpointCleaner
            old: everyLane, local
        # Operators
        Database/Bulk/DeliveryBulk
            named: joined
        Database/Bulk/DeliveryBulk+Outcome
            outcome: lateral
        Database/Bulk/NotificationBulk
            queue: joined
        Database/Changes/AuditTable
            insert: clock
        Database/Changes/ChangeTable
            end: clock
            insert: clock
        Database/Changes/ChangeTable+Inquiries
            freeing: clock
            going: clock
            setHolder: clock
        Database/Changes/ChangeVersions
            deliveries: joined, local
        Database/Endpoints/EndpointTable
            disable: clock
        Database/Queries/EventQuery
            find: joined
            named: joined
        Database/Queries/EventTraceQuery
            deliveries: lateral
        Database/Queries/IntroductoryOfferQuery
            select: everyLane, local
        Database/Queries/OverviewQuery
            backlog: joined
            counts: joined, local
            newest: lateral
            workers: everyLane, local
        Database/Queries/PurchaseQuery
            select: everyLane, local
        Database/Queries/WaitingPurchase
            select: lateral
        EntitledApp/Doctor/Checks/ClockChecks
            newest: lateral
        EntitledApp/Doctor/Checks/EndpointChecks
            waiting: lateral
        EntitledApp/Doctor/Checks/MoneyChecks
            sample: lateral
        EntitledApp/Doctor/Checks/WorkChecks
            living: everyLane, local
        EntitledApp/Doctor/NewestNotifications
            sample: lateral
        EntitledApp/Doctor/RoundTrip
            tests: lateral
        Operator/Database/PurchaseScan
            select: everyLane, local
        """

    /// What operators ask, or is asked by a customer, an identifier or a time: on a cluster every shard answers, which is slower there, and
    /// right. Statements of one kind of fault only.
    private static let asked = """
        Customers/Export/PurchaseExport
            identifiers: everyLane
        Customers/Export/StoredNotifications
            select: everyLane
            selectPlaces: everyLane
        Database/Bulk/DeliveryBulk
            columns: everyLane
            conditions: everyLane
        Database/Bulk/DeliveryBulk+Scan
            oldest: everyLane
            part: everyLane
        Database/Bulk/NotificationBulk
            waiting: everyLane
        Database/Changes/ChangeVersions
            ids: everyLane
            purchases: everyLane
        Database/Cluster/ClusterMember
            list: everyLane
        Database/Customers/AccountLookTable
            count: everyLane
            isDue: everyLane
            select: everyLane
            selectDue: everyLane
        Database/Deliveries/DeliveryQuery
            all: everyLane
        Database/Lanes/LaneGroups
            read: everyLane
        Database/Log/NotificationQuery
            columns: everyLane
            held: everyLane
            keys: everyLane
            names: everyLane
            source: everyLane
        Database/Queries/CustomerQuery
            owners: everyLane
            purchases: everyLane
        Database/Queries/EventQuery
            all: everyLane
            rows: everyLane
        Database/Queries/PurchaseQuery
            countBought: everyLane
            countTogether: everyLane
            find: everyLane
            findEach: everyLane
            selectBought: everyLane
            selectScopes: everyLane
            selectTogether: everyLane
        Database/Queries/SubscriberQuery
            selectOwned: everyLane
        Database/Reports/ReportOverview
            money: everyLane
        Duties/Replay/DeadLetterScan
            deliveries: everyLane
        Duties/Replay/EventScan
            columns: everyLane
            instant: everyLane
            window: everyLane
        Duties/Retention/EmptyCustomerCleaner
            owners: everyLane
        EntitledApp/Doctor/Checks/OwnerChecks
            remaining: everyLane
        EntitledApp/Doctor/Checks/WorkChecks
            dead: everyLane
            needAPerson: everyLane
        EntitledApp/Doctor/NewestNotifications
            exact: everyLane
        """
}
