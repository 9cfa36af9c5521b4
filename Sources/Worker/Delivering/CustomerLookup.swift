import Base
import Database
import Postgres
import Subscriptions

/// Looks up the customers of events for endpoints that get them with each event.
///
/// They are read when a delivery is fetched for an attempt, not when its event is made: a consumer that would ask for the
/// customer gets the same answer, which a retry or a replay must not make older, nothing of it is stored with events, and
/// a customer who was deleted since is not told of again.
package struct CustomerLookup: Sendable {
    private let query: SubscriberQuery
    private let document: SubscriberDocument
    private let largest: Int

    /// The largest document that is sent with an event, in bytes; consumers ask for what is larger.
    package static let largest = 256 << 10
    /// Customers in one statement.
    private static let batch = 64

    package init(document: SubscriberDocument, foldSettings: FoldSettings, largest: Int = CustomerLookup.largest) {
        self.document = document
        self.largest = largest
        query = SubscriberQuery(foldSettings: foldSettings)
    }

    /// What a consumer gets.
    package enum Content: Sendable {
        /// `GET /v1/subscribers/{app_user_id}` with a secret key.
        case answer
        /// The `subscriber` of it, however large.
        case subscriber
    }

    /// These deliveries with their customers, where their endpoints get them.
    ///
    /// - Parameters:
    ///   - contents: by endpoint.
    ///   - reading: runs what it is given in bounds of time.
    package func add(
        to deliveries: [DueDelivery], _ contents: [String: Content], now: Int64, on connection: PostgresConnection,
        reading: (() throws -> Void) throws -> Void
    ) throws -> [DueDelivery] {
        let subjects = deliveries.map { contents[$0.endpoint] == nil ? nil : Subject(of: $0.body) }
        let ids = Set(subjects.flatMap { [$0?.customer, $0?.origin].compactMap(\.self) }).sorted()
        guard !ids.isEmpty else { return deliveries }
        let found = try find(ids, on: connection, reading)
        return zip(deliveries, subjects).map { delivery, subject in
            guard let subject, let content = contents[delivery.endpoint] else { return delivery }
            func bytes(_ id: String?) -> [UInt8]? { id.flatMap { self.bytes(of: $0, found[$0], content, now) } }
            var delivery = delivery
            delivery.customers = DeliveryCustomers(
                customer: bytes(subject.customer), origin: bytes(subject.origin), isTransfer: subject.isTransfer)
            return delivery
        }
    }

    /// Whom an event is about.
    private struct Subject {
        let customer: String?
        let origin: String?
        let isTransfer: Bool

        init(of body: [UInt8]) {
            let event = (try? JSON(parsing: body))?["event"]
            isTransfer = event?["type"]?.stringValue == EventType.transfer.rawValue
            // All ids of one side are of one customer.
            customer = event?["app_user_id"]?.stringValue ?? event?["transferred_to"]?.arrayValue?.first?.stringValue
            origin = event?["transferred_from"]?.arrayValue?.first?.stringValue
        }
    }

    /// What was found of an id.
    private enum Found {
        case customer(SubscriberQuery.Found)
        /// What is stored of it cannot be read.
        case unreadable
    }

    private func find(
        _ ids: [String], on connection: PostgresConnection, _ reading: (() throws -> Void) throws -> Void
    ) throws -> [String: Found] {
        var found: [String: Found] = [:]
        var made: [SnapshotTable.New] = []
        func read(_ ids: [String]) throws {
            var customers: [SubscriberQuery.Found?] = []
            try reading { customers = try query.find(ids, on: connection) }
            for (id, customer) in zip(ids, customers) { found[id] = customer.map { .customer($0) } }
            made += customers.flatMap { $0?.made ?? [] }
        }
        for start in stride(from: 0, to: ids.count, by: CustomerLookup.batch) {
            let part = Array(ids[start..<min(start + CustomerLookup.batch, ids.count)])
            do {
                try read(part)
            } catch  where !error.isConnectionLost {
                // A customer that cannot be read, or not in time, must not keep the events of all others back.
                for id in part {
                    do {
                        try read([id])
                    } catch  where !error.isConnectionLost {
                        found[id] = .unreadable
                    }
                }
            }
        }
        // Only the next lookup gains by it.
        if !made.isEmpty { try? reading { try SnapshotTable.write(made, on: connection) } }
        return found
    }

    /// Nil for what is not sent. Of an id that no customer has, what a secret key that may only read is answered.
    private func bytes(of id: String, _ found: Found?, _ content: Content, _ now: Int64) -> [UInt8]? {
        let (profile, snapshots): (CustomerProfile, [PurchaseSnapshot])
        switch found {
        case .unreadable: return nil
        case .customer(let customer):
            (profile, snapshots) = (customer.profile(showsAttributes: true), customer.snapshots)
        case nil:
            profile = CustomerProfile(
                originalAppUserID: id, appUserIDs: [id], firstSeen: now, lastSeen: now, attributes: .object([]))
            snapshots = []
        }
        switch content {
        case .answer:
            let body = document.page(customer: profile, snapshots: snapshots, now: now).body.dropLast()
            return body.count <= largest ? Array(body) : nil
        case .subscriber:
            return document.json(customer: profile, snapshots: snapshots, now: now)["subscriber"]?.bytes
        }
    }
}

extension Endpoint {
    /// What it gets of customers; nil: nothing.
    var customerContent: CustomerLookup.Content? {
        extensionVersion != nil ? .subscriber : includesSubscriber ? .answer : nil
    }
}
