import Base
import Database
import HTTP
import Subscriptions

extension ChangeRoute {
    /// Endpoints that are added, changed, removed and tested.
    static let ofEndpoints: [ChangeRoute] = [
        ChangeRoute("/endpoints", .endpointAdd) { desk, _, body in
            let form = try desk.endpointForm(&body, isNew: true)
            let given = try desk.secrets(&body, hasSecret: true)
            guard let url = form.url else { throw DeskError.badRequest("url is missing.", field: "url") }
            if let flaw = form.flaw(ofNewIn: desk.settings.apps) { throw DeskError(flaw) }
            return Subject(
                // It gets its id when it is asked for.
                target: ChangeRoute.newEndpoint, parameters: form.json.naming(given),
                secrets: given.isEmpty ? nil : (given, url))
        },
        ChangeRoute("/endpoints/{id}", .endpointChange, method: "PATCH") { desk, values, body in
            let former = try desk.endpoint(values["id"]).endpoint
            var form = try desk.endpointForm(&body, isNew: false)
            let given = try desk.secrets(&body, hasSecret: false)
            form.remove(whatIsOf: former)
            guard !form.isEmpty || !given.isEmpty else {
                throw DeskError.badRequest("The endpoint is so already: nothing of it would change.")
            }
            let isElsewhere = form.url.map { !WebhookAddress.haveOneOrigin($0, former.url) } ?? false
            if let flaw = form.flaw(ofChanging: former, desk.settings.apps, given, isElsewhere: isElsewhere) {
                throw DeskError(flaw)
            }
            return Subject(
                target: former.id, parameters: form.json.naming(given),
                secrets: given.isEmpty ? nil : (given, form.url ?? former.url))
        },
        ChangeRoute("/endpoints/{id}", .endpointRemove, method: "DELETE") { desk, values, _ in
            guard values["id"] != OperationsEndpoint.id else {
                throw DeskError.badRequest(OperationsEndpoint.irremovable)
            }
            return try endpoint(values, desk)
        },
        ChangeRoute("/endpoints/{id}/rotate-secret", .endpointRotateSecret) { desk, values, body in
            let overlap =
                try body.duration("overlap", upTo: EndpointSecrets.overlapLimit) ?? EndpointSecrets.standardOverlap
            let given = try desk.secret(&body)
            let endpoint = try desk.endpoint(values["id"]).endpoint
            return Subject(
                target: endpoint.id, parameters: JSON.object(["overlap": .int(overlap.milliseconds)]).naming(given),
                secrets: given.isEmpty ? nil : (given, endpoint.url))
        },
        ChangeRoute("/endpoints/{id}/test", .endpointTest) { desk, values, _ in try endpoint(values, desk) },
    ]

    /// What a new endpoint is called before it has an id.
    static let newEndpoint = "new"

    /// Customers who are deleted.
    static let ofCustomers: [ChangeRoute] = [
        ChangeRoute("/customers/{id}", .customerDelete, method: "DELETE") { desk, values, body in
            let found = try desk.resolve(values["id"])
            // What is meant for one id is not done to one that is only like it.
            guard let id = found.appUserID, found.match == .exact || found.match == .uuid else {
                throw DeskError.notFound(
                    "No customer has the id \(values["id"]); similar ids are:"
                        + " \((found.appUserID.map { [$0] } ?? found.spellings.map(\.id)).joined(separator: ", ")).")
            }
            let policy = try body.word("policy", of: DeletionPolicy.allCases.map(\.rawValue))
            return Subject(
                target: id,
                parameters: .object([
                    "policy": .string(policy ?? desk.settings.deletion.rawValue),
                    ChangeVersions.holdings: .string(try ChangeVersions.holdings(of: id, on: desk.connection)),
                ]))
        }
    ]
}

extension JSON {
    /// Parameters of a change with the names of what is secret, whose values are sealed beside.
    fileprivate func naming(_ given: GivenSecrets) -> JSON {
        guard !given.isEmpty else { return self }
        return .object((members ?? []) + [JSON.Member(name: SecretIntake.names, value: .strings(given.names))])
    }
}

extension DeskError {
    fileprivate init(_ flaw: EndpointForm.Flaw) {
        self = .badRequest(flaw.message, field: flaw.field)
    }
}

extension DatabaseDesk {
    private func flawless<Value>(_ body: () throws(EndpointForm.Flaw) -> Value) throws(DeskError) -> Value {
        do {
            return try body()
        } catch {
            throw DeskError(error)
        }
    }

    /// What is asked of an endpoint, without what is secret.
    fileprivate func endpointForm(_ body: inout ChangeBody, isNew: Bool) throws -> EndpointForm {
        var form = EndpointForm()
        if let text = try body.optionalText("url") {
            guard let url = WebhookAddress.normalised(text) else {
                throw DeskError.badRequest("url is no URL that webhooks can be sent to.", field: "url")
            }
            form.url = url
        }
        form.environments = try body.list("environments")?.map { name in
            guard let environment = StoreEnvironment(rawValue: name) else {
                throw DeskParameters.notOneOf(StoreEnvironment.allCases.map(\.rawValue), name, "environments")
            }
            return environment
        }
        form.events = try body.list("events")
        form.exceptedEvents = try body.list("excepted_events")
        form.apps = try body.list("apps")
        form.includesSubscriber = try body.word("include", of: EndpointForm.inclusions).map { $0 == "subscriber" }
        form.extensionVersion = try body.optionalText("extension_version")
        form.ordering = try body.word("ordering", of: Ordering.allCases.map(\.rawValue))
            .flatMap(Ordering.init(rawValue:))
        if let word = try body.optionalText("retry_schedule") {
            form.retrySchedule = try flawless { () throws(EndpointForm.Flaw) in try EndpointForm.schedule(word) }
        }
        form.isAsymmetric = try body.optionalFlag("asymmetric")
        if isNew {
            form.format = try body.word("format", of: EndpointForm.formats)
            form.since = try body.instant("since", now: now)
        } else {
            form.withoutAuthorization = try body.flag("without_authorization")
            form.withoutHeaders = try body.list("without_headers") ?? []
        }
        return form
    }

    fileprivate func secrets(_ body: inout ChangeBody, hasSecret: Bool) throws -> GivenSecrets {
        let authorization = try body.optionalText("authorization")
        let headers = try body.list("headers", separator: "\n") ?? []
        let secret = try hasSecret ? body.optionalText("secret") : nil
        return try flawless { () throws(EndpointForm.Flaw) in
            try GivenSecrets(authorization: authorization, headers: headers, secret: secret)
        }
    }

    /// The secret that a consumer has already, and nothing else.
    fileprivate func secret(_ body: inout ChangeBody) throws -> GivenSecrets {
        let secret = try body.optionalText("secret")
        return try flawless { () throws(EndpointForm.Flaw) in
            try GivenSecrets(authorization: nil, headers: [], secret: secret)
        }
    }
}
