import Base
import Database
import Subscriptions

/// A path of the operator API by which a change is asked for.
package struct ChangeRoute: Sendable {
    /// What is to be changed: found, so that a typo is told at once.
    struct Subject {
        /// Nil: that of the route.
        var kind: ChangeKind?
        var target: String
        var parameters: JSON
        /// What is secret of an endpoint, and the URL that it is for.
        var secrets: (given: GivenSecrets, url: String)?
    }

    typealias Find = @Sendable (DatabaseDesk, PathValues, inout ChangeBody) throws -> Subject

    /// Of HTTP.
    package let method: String
    package let kind: ChangeKind
    /// Kinds that the member `kind` of the body chooses from; empty: it has none.
    let choices: [String: ChangeKind]
    let pattern: PathPattern
    let find: Find

    init(
        _ path: String, _ kind: ChangeKind, method: String = "POST", choices: [String: ChangeKind] = [:],
        _ find: @escaping Find
    ) {
        self.method = method
        pattern = PathPattern(OperatorRoute.root + path)
        self.kind = kind
        self.choices = choices
        self.find = find
    }

    /// Who may ask for one of its kinds.
    var roles: Set<OperatorRole> {
        choices.values.reduce(kind.roles) { $0.union($1.roles) }
    }

    /// The kind that a body asks for.
    func kind(of body: inout ChangeBody) throws(DeskError) -> ChangeKind {
        guard !choices.isEmpty else { return kind }
        let word = try body.text("kind")
        guard let kind = choices[word] else { throw DeskParameters.notOneOf(choices.keys.sorted(), word, "kind") }
        return kind
    }

    package var path: String { pattern.text }

    package static let all = single + ofEndpoints + ofCustomers + inquiries

    private static let single: [ChangeRoute] = [
        ChangeRoute("/customers/{id}/grants", .grant, grant),
        ChangeRoute("/customers/{id}/grants/revoke", .revoke) { desk, values, body in
            let entitlement = try body.text("entitlement")
            return Subject(
                target: try customer(values, desk), parameters: .object(["entitlement": .string(entitlement)]))
        },
        ChangeRoute("/customers/{id}/notes", .note) { desk, values, body in
            let target = try customer(values, desk)
            let text = try body.text("text")
            guard text.unicodeScalars.count <= CustomerNoteTable.longest else {
                throw DeskError.badRequest(
                    "A note may have at most \(CustomerNoteTable.longest) characters.", field: "text")
            }
            return Subject(target: target, parameters: .object(["text": .string(text)]))
        },
        ChangeRoute("/customers/{id}/notes/{note}/remove", .noteRemove) { desk, values, _ in
            guard let number = Int64(values["note"]) else {
                throw DeskError.notFound("\(values["note"]) is not the number of a note.")
            }
            return Subject(target: try customer(values, desk), parameters: .object(["note": .int(number)]))
        },
        ChangeRoute("/customers/{id}/aliases", .alias) { desk, values, body in
            let target = try customer(values, desk)
            let mayCreate = try body.flag("create")
            let other = try other("alias", desk, &body, mayCreate: mayCreate)
            return Subject(
                target: target,
                parameters: .object(["alias": .string(other), "create": .bool(mayCreate)]))
        },
        ChangeRoute("/customers/{id}/transfers", .transfer) { desk, values, body in
            let target = try customer(values, desk)
            let purchase = try body.optionalText("purchase")
            let to = try other("to", desk, &body)
            return Subject(
                target: target,
                parameters: .object(["to": .string(to), "purchase": purchase.map { .string($0) }]))
        },
        ChangeRoute("/purchases/{app}/{environment}/{id}/claims", .claim) { desk, values, body in
            let environment = try values.environment()
            let purchase = try desk.purchase(
                PurchaseKey(app: values["app"], environment: environment, originalTransactionID: values["id"])
            ).row.purchase.key
            return Subject(
                target: try other("customer", desk, &body),
                parameters: .object([
                    "app": .string(purchase.app), "environment": .string(environment.rawValue),
                    "purchase": .string(purchase.originalTransactionID),
                ]))
        },
        ChangeRoute("/deliveries/{id}/resends", .resend) { desk, values, _ in
            // Any id of it; the answer knows the one that it has here.
            let delivery = try desk.delivery(values["id"])
            return Subject(target: delivery.delivery.id.text, parameters: .object([JSON.Member]()))
        },
        ChangeRoute("/events/{id}/resends", .eventResend) { desk, values, body in
            let event = try desk.event(values["id"]).event
            let endpoint = try body.optionalText("endpoint")
            if let endpoint, try EndpointTable.list(id: endpoint, on: desk.connection).isEmpty {
                throw DeskError.badRequest("There is no endpoint \(endpoint).", field: "endpoint")
            }
            return Subject(
                target: event.id, parameters: .object(["endpoint": endpoint.map { .string($0) }]))
        },
        ChangeRoute("/notifications/{app}/{environment}/{uuid}/reprocess", .reprocess) { desk, values, _ in
            let environment = try values.environment()
            _ = try desk.notification(
                NotificationName(app: values["app"], environment: environment, uuid: values["uuid"]))
            return Subject(
                target: values["uuid"],
                parameters: .object([
                    "app": .string(values["app"]), "environment": .string(environment.rawValue),
                ]))
        },
        ChangeRoute("/endpoints/{id}/enable", .endpointEnable) { desk, values, _ in try endpoint(values, desk) },
        ChangeRoute("/endpoints/{id}/disable", .endpointDisable) { desk, values, _ in try endpoint(values, desk) },
        ChangeRoute("/endpoints/{id}/pause", .endpointPause) { desk, values, body in
            guard let until = try body.future("until", now: desk.now) else {
                throw DeskError.badRequest("until is missing.", field: "until")
            }
            return try endpoint(values, desk, .object(["until": .int(until)]))
        },
        ChangeRoute("/refunds/{transaction}/answer", .refundAnswer, refundAnswer),
        ChangeRoute("/purchases/{app}/{environment}/{id}/extensions", .purchaseExtend) { desk, values, body in
            let environment = try values.environment()
            let purchase = try desk.purchase(
                PurchaseKey(app: values["app"], environment: environment, originalTransactionID: values["id"])
            ).row.purchase.key
            guard !purchase.isGrant else { throw DeskError.badRequest("A grant is not Apple's to extend.") }
            guard let days = try body.integer("days", in: 1...RenewalExtensionTerms.longest) else {
                throw DeskError.badRequest("days is missing.", field: "days")
            }
            guard let reason = try body.word("apple_reason", of: RenewalExtensionTerms.reasons) else {
                throw DeskError.badRequest("apple_reason is missing.", field: "apple_reason")
            }
            return Subject(
                target: purchase.originalTransactionID,
                parameters: .object([
                    "app": .string(purchase.app), "environment": .string(environment.rawValue), "days": .int(days),
                    "apple_reason": .string(reason),
                ]))
        },
        ChangeRoute("/jobs/{id}/cancel", .jobCancel) { desk, values, _ in
            guard let number = Int64(values["id"]) else {
                throw DeskError.notFound("\(values["id"]) is not the number of a job.")
            }
            // Another operator's is not told from one that is not there.
            _ = try desk.knownJob(number)
            return Subject(target: String(number), parameters: .object([JSON.Member]()))
        },
    ]

    /// Changes of many rows.
    package static let jobs = ChangeRoute("/jobs", .bulkResend, choices: BulkRequest.kinds) { desk, _, body in
        try BulkRequest.find(desk, &body)
    }

    private static func customer(_ values: PathValues, _ desk: DatabaseDesk) throws -> String {
        try desk.resolve(values["id"]).appUserID ?? values["id"]
    }

    /// Another customer, by an app user id as it is: nothing goes to one whose id is only like it.
    private static func other(
        _ name: String, _ desk: DatabaseDesk, _ body: inout ChangeBody, mayCreate: Bool = false
    ) throws -> String {
        let id = try body.text(name)
        guard id.utf8.count <= 1024 else {
            throw DeskError.badRequest("\(name) can have at most 1024 bytes.", field: name)
        }
        let found = try CustomerQuery.resolve(id, on: desk.connection)
        switch found.match {
        case .exact, .uuid: return found.appUserID ?? id
        default:
            if mayCreate { return id }
            let near = (found.spellings + found.owners).map(\.id)
            throw DeskError.badRequest(
                near.isEmpty
                    ? "No customer has the id \(id)."
                    : "No customer has the id \(id); similar ids are: \(near.joined(separator: ", ")).", field: name)
        }
    }

    static func endpoint(
        _ values: PathValues, _ desk: DatabaseDesk, _ parameters: JSON = .object([JSON.Member]())
    ) throws -> Subject {
        _ = try desk.endpoint(values["id"])
        return Subject(target: values["id"], parameters: parameters)
    }

    private static let refundAnswer: Find = { desk, values, body in
        let app = try body.optionalText("app") ?? values.values["app"]
        let environment = try body.word("environment", of: StoreEnvironment.allCases.map(\.rawValue))
        let key = try desk.refund(
            values["transaction"], app: app,
            environment: (environment ?? values.values["environment"]).flatMap(StoreEnvironment.init(rawValue:))
        ).key
        guard try body.flag("consent") else {
            throw DeskError.badRequest(
                "consent must be true: Apple takes answers only with the customer's consent.", field: "consent")
        }
        let form = RefundAnswerForm(
            preference: try body.word("preference", of: RefundAnswerForm.preferences.keys),
            delivery: try body.word("delivery", of: RefundAnswerForm.deliveries.keys),
            hadSample: try body.flag("sample_content"), consumed: try body.integer("consumed", in: 0...100))
        let answer: RefundAnswer
        do throws(RefundAnswerForm.Flaw) {
            answer = try form.answer()
        } catch .proratedWhole {
            throw DeskError.badRequest("grant_prorated needs consumed from 1 to 99.", field: "consumed")
        } catch {
            throw DeskError.badRequest("consumed must be 0 unless the product was delivered.", field: "consumed")
        }
        return Subject(
            target: key.purchase.originalTransactionID,
            parameters: .object([
                "app": .string(key.purchase.app), "environment": .string(key.purchase.environment.rawValue),
                "transaction": .string(key.transactionID), "answer": answer.json,
            ]))
    }

    private static let grant: Find = { desk, values, body in
        let terms = try grantTerms(desk, &body)
        return Subject(target: try customer(values, desk), parameters: .object(terms))
    }

    /// What is granted, and for how long.
    static func grantTerms(_ desk: DatabaseDesk, _ body: inout ChangeBody) throws(DeskError) -> [JSON.Member] {
        let entitlement = try body.text("entitlement")
        let known = Set(desk.settings.catalogue.products.keys)
        guard known.contains(entitlement) else {
            throw .badRequest(
                "There is no entitlement \(entitlement)"
                    + (known.isEmpty ? "." : "; there are: \(known.sorted().joined(separator: ", "))."),
                field: "entitlement")
        }
        let duration = try body.optionalText("duration")
        let until = try body.future("until", now: desk.now)
        if let duration, GrantDuration(rawValue: duration) == nil {
            throw DeskParameters.notOneOf(GrantDuration.allCases.map(\.rawValue), duration, "duration")
        }
        guard (duration == nil) != (until == nil) else {
            throw .badRequest("A grant needs one of duration and until.", field: "duration")
        }
        return [
            JSON.Member(name: "entitlement", value: .string(entitlement)),
            until.map { JSON.Member(name: "until", value: .int($0)) }
                ?? JSON.Member(name: "duration", value: .string(duration ?? "")),
        ]
    }
}

extension DeskError {
    package static func forbidden(_ role: OperatorRole, _ kind: ChangeKind) -> DeskError {
        let needs = OperatorRole.allCases.filter(kind.roles.contains)
        return DeskError(
            403, "forbidden",
            "The role \(role.rawValue) may not do this; it needs one of: "
                + "\(needs.map(\.rawValue).joined(separator: ", ")).", needs: needs)
    }
}
