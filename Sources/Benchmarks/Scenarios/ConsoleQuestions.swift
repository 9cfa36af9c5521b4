import Base

/// What operators ask: every list with usual filters and with such as match hardly anything, every record, and the search. Paths are
/// those of the operator API, and of the console where there is a page of the same name.
struct ConsoleQuestions {
    struct Question {
        let name: String
        /// Below `/operator/v1`, one after the other.
        let paths: [String]
        /// Whether `/console` has a page of this path.
        var isPage = true
    }

    let ids: GrownConsole.Ids

    var all: [Question] { lists + records + searches }

    private func each(_ path: String, _ ids: [String]) -> [String] {
        ids.map { path.replacing("ID", with: PercentEncoding.encode($0)) }
    }

    private func list(_ name: String, _ queries: [String]) -> [Question] {
        queries.map { query in
            Question(
                name: query.isEmpty ? name : "\(name)?\(query)", paths: ["/\(name)\(query.isEmpty ? "" : "?\(query)")"])
        }
    }

    private func list(_ name: String, each query: String, _ ids: [String]) -> [Question] {
        [Question(name: "\(name)?\(query)", paths: each("/\(name)?\(query)", ids))]
    }

    private var lists: [Question] {
        let endpoint = ids.endpoints.first ?? ""
        var questions = list("customers", ["", "limit=100", "until=30d", "since=40d&until=39d", "until=59d"])
        questions += list(
            "purchases",
            [
                "", "status=active", "status=expired", "status=billing_retry", "status=grace", "status=revoked",
                "product=pro_monthly", "product=none", "unclaimed=true", "ends_after=2030-01-01",
                "ends_before=2020-01-01",
                "app=none", "env=Production",
            ])
        questions +=
            list("purchases", each: "id=ID", ids.transactions) + list("purchases", each: "customer=ID", ids.customers)
        questions += list(
            "events",
            [
                "", "type=RENEWAL", "type=TRANSFER", "type=none&app=demo", "env=Production", "app=none", "since=1h",
                "since=50d&until=49d", "type=TRANSFER&since=40d",
            ])
        questions +=
            list("events", each: "purchase=ID", ids.purchases) + list("events", each: "customer=ID", ids.customers)
        questions += list("events", each: "customer=ID&type=TRANSFER", ids.customers)
        questions += list(
            "deliveries",
            [
                "", "state=pending", "state=held", "state=dead", "state=delivered", "endpoint=\(endpoint)",
                "endpoint=\(endpoint)&state=dead", "endpoint=\(endpoint)&state=pending", "endpoint=we_none",
                "type=TRANSFER",
                "status=5xx", "status=418", "attempts_min=7", "since=1h", "since=50d&until=49d",
                "state=dead&type=TRANSFER&status=404",
            ])
        questions +=
            list("deliveries", each: "event=ID", ids.events) + list("deliveries", each: "customer=ID", ids.customers)
        questions += list(
            "notifications",
            [
                "", "state=held", "state=pending", "state=applied", "type=DID_RENEW", "type=REFUND", "subtype=none",
                "source=history", "source=posted", "app=none", "env=Production", "since=1h", "since=50d&until=49d",
                "state=held&type=REFUND",
            ])
        questions += list("notifications", each: "purchase=ID", ids.purchases)
        questions += list("notifications", each: "purchase=ID&app=demo", ids.purchases)
        questions +=
            list("refunds", ["", "open=true", "app=none"]) + list("jobs", ["", "state=failed", "state=running"])
        questions += list(
            "audit", ["", "actor=ben", "kind=reprocess", "actor=none", "target=user-5", "since=1h", "until=1h"])
        questions += list("actions", ["", "kind=alias", "actor=none"]).map {
            Question(name: $0.name, paths: $0.paths, isPage: false)
        }
        questions += list("actions", each: "customer=ID", ids.customers)
            .map { Question(name: $0.name, paths: $0.paths, isPage: false) }
        return questions + list("outages", [""]) + list("products", [""]) + list("endpoints", [""])
    }

    private var records: [Question] {
        func record(_ path: String, _ ids: [String], isPage: Bool = true) -> Question {
            Question(name: String(path.dropFirst()), paths: each(path, ids), isPage: isPage)
        }
        return [
            record("/customers/ID", ids.customers), record("/customers/ID/timeline", ids.customers, isPage: false),
            record("/customers/ID/timeline?order=heard", ids.customers, isPage: false),
            record("/customers/ID/events", ids.customers, isPage: false),
            record("/purchases/demo/Sandbox/ID", ids.purchases), record("/events/ID", ids.events),
            record("/deliveries/ID", ids.deliveries), record("/endpoints/ID", ids.endpoints),
            record("/notifications/demo/Sandbox/ID", ids.notifications), record("/jobs/ID", ["17", "4711"]),
            Question(name: "overview", paths: ["/overview"], isPage: false),
            Question(name: "", paths: [""], isPage: true),
            Question(name: "workers", paths: ["/workers"], isPage: false),
            Question(name: "doctor", paths: ["/doctor"], isPage: false),
            Question(name: "settings", paths: ["/settings"]), Question(name: "me", paths: ["/me"]),
        ]
    }

    private var searches: [Question] {
        func search(_ kind: String, _ ids: [String]) -> Question {
            Question(name: "search \(kind)", paths: each("/search?q=ID", ids))
        }
        return [
            search("customer", ids.customers), search("in capitals", ids.customers.map { $0.uppercased() }),
            search("purchase", ids.purchases), search("transaction", ids.transactions), search("event", ids.events),
            search("delivery", ids.deliveries), search("notification", ids.notifications),
            search("endpoint", ids.endpoints),
            search("e-mail address", ids.customers.map { "\($0.replacing("user-", with: "USER"))@example.com" }),
            search("value of many", ["plan 1", "plan=plan 1"]), search("nothing", ["none", "e", "%25", "user-"]),
        ]
    }
}
