import Base
import Database
import HTTP
import Markup
import Operator

/// What the forms of endpoints ask for.
extension ChangePages {
    /// - Parameter id: of an endpoint that is changed, whose settings are filled in; nil: a new one.
    func endpointFields(_ id: String?, _ call: PageCall) throws -> Node {
        guard let id else { return .group(address(of: nil, call) + filters(of: nil, call) + requests(of: nil, call)) }
        var former: Endpoint?
        do {
            former = try call.ask { try $0.endpoint(id).endpoint }
        } catch let error as DeskError where error.status == 404 {
            // What is wrong with the id is told when the form is sent.
        }
        guard let former else { return .none }
        let hasFilters = !former.isOperations
        return .group(
            (hasFilters ? address(of: former, call) + filters(of: former, call) : []) + requests(of: former, call))
    }

    /// A line of text, which has what was typed, or what is so now.
    private func line(
        _ title: String, _ id: ElementID, _ name: String, _ now: String, _ call: PageCall, isNeeded: Bool = false
    ) -> Node {
        Tag.div(.classes(.field)) {
            Tag.label(.label(for: id)) { Node.untrusted(title) }
            Tag.input(
                .id(id), .name(name), .type(.text), .value(call.form[name] ?? now), isNeeded ? .required : nil,
                .autocomplete(.off), .unspelled)
        }
    }

    /// The same for what is secret: it is not shown, not even what was typed.
    func hidden(_ title: String, _ id: ElementID, _ name: String) -> Node {
        Tag.div(.classes(.field)) {
            Tag.label(.label(for: id)) { title }
            Tag.input(.id(id), .name(name), .type(.password), .value(""), .autocomplete(.off))
        }
    }

    /// A choice that begins with what is so now.
    private func choice(
        _ title: String, _ id: ElementID, _ name: String, now: String?, _ choices: [(value: String, text: String)],
        _ call: PageCall
    ) -> Node {
        let first = now.flatMap { now in choices.first { $0.value == now } }
        return select(title, id, name, (first.map { [$0] } ?? []) + choices.filter { $0.value != first?.value }, call)
    }

    private func address(of former: Endpoint?, _ call: PageCall) -> [Node] {
        guard let former else {
            return [
                line("URL (https:)", .url, "url", "", call, isNeeded: true),
                choice(
                    "Content", .format, "format", now: nil,
                    [
                        ("revenuecat", "events"), ("raw", "Apple's notifications, unchanged"),
                        ("firebase", "events for RevenueCat's Firebase extension"),
                    ], call),
            ]
        }
        return [line("New URL (empty: it stays \(former.publicURL))", .url, "url", "", call)]
    }

    private func filters(of former: Endpoint?, _ call: PageCall) -> [Node] {
        let environments = (former?.environments ?? []).map(\.rawValue)
        let isRaw = former?.format == .raw
        let fields: [Node?] = [
            choice(
                "Environments", .environments, "environments",
                now: environments.count == 1 ? environments.first : "",
                [("", "all")] + StoreEnvironment.allCases.map { ($0.rawValue, "\($0.rawValue) alone") }, call),
            line(
                "Only these types, with commas between them (empty: all)", .events, "events",
                (former?.events ?? []).joined(separator: ", "), call),
            line(
                "All but these types", .except, "excepted_events",
                (former?.exceptedEvents ?? []).joined(separator: ", "), call),
            line(
                "Only these apps (empty: all)", .apps, "apps", (former?.apps ?? []).joined(separator: ", "), call),
            isRaw
                ? nil
                : choice(
                    "Order", .ordering, "ordering", now: former?.ordering.rawValue,
                    [
                        ("none", "each event at once"),
                        ("purchase", "the next event of a purchase only after the one before it"),
                    ], call),
            isRaw || former?.extensionVersion != nil
                ? nil
                : choice(
                    "Customers in events", .include, "include",
                    now: former.map { $0.includesSubscriber ? "subscriber" : "none" },
                    [("none", "no"), ("subscriber", "each event has the document of its customer")], call),
        ]
        return fields.compactMap(\.self)
    }

    private func requests(of former: Endpoint?, _ call: PageCall) -> [Node] {
        let schedule = former.map { $0.retrySchedule?.text ?? EndpointForm.standardSchedule } ?? ""
        var fields = [
            line(
                "Waits after failed attempts, as in 1h,12h (default: as configured)", .schedule, "retry_schedule",
                schedule, call),
            hidden(
                former?.hasAuthorization == true
                    ? "New Authorization header (empty: it stays)" : "Authorization header", .authorization,
                "authorization"),
        ]
        if former?.hasAuthorization == true {
            fields.append(
                choice(
                    "The Authorization header", .withoutAuthorization, "without_authorization", now: nil,
                    [("false", "stays, or is set anew"), ("true", "goes")], call))
        }
        let names = former?.headerNames ?? []
        fields.append(
            Tag.div(.classes(.field)) {
                Tag.label(.label(for: .headers)) {
                    Node.untrusted(
                        "Headers, one a line, as in X-Tenant: demo"
                            + (names.isEmpty ? "" : "; now: \(names.joined(separator: ", ")), whose values stay"))
                }
                // Values are secret: what was typed is not shown again.
                Tag.textarea(.id(.headers), .name("headers"), .rows(3), .autocomplete(.off)) { Node.text("") }
            })
        if !names.isEmpty {
            fields.append(
                line("Headers that go, with commas between them", .withoutHeaders, "without_headers", "", call))
        }
        if former == nil {
            fields.append(hidden("Secret that the consumer has already (empty: a new one)", .secret, "secret"))
        }
        fields.append(
            choice(
                "Key pair (ed25519) beside the secret", .asymmetric, "asymmetric", now: nil,
                former == nil
                    ? [("false", "no"), ("true", "yes")]
                    : [("", "stays as it is"), ("true", "signs, too"), ("false", "does not sign any more")], call))
        return fields
    }
}
