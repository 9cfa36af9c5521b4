import Accounts
import Base
import Crypto
import Database
import HTTP
import Markup
import Operator
import Subscriptions

/// What a form asks for beside the reason, by the kind of the change.
extension ChangePages {
    func fields(_ kind: ChangeKind, _ call: PageCall) throws -> Node {
        switch kind {
        case .note:
            Tag.div(.classes(.field)) {
                Tag.label(.label(for: .text)) { "Note" }
                Tag.textarea(
                    .id(.text), .name("text"), .rows(6), .required, .maxLength(CustomerNoteTable.longest),
                    .autocomplete(.off)
                ) { Node.text(call.form["text"] ?? "") }
            }
        case .alias:
            .group([
                field("Other id", .alias, "alias", call),
                select(
                    "If no customer has it", .create, "create",
                    [("false", "refuse it"), ("true", "add it as a new id")], call),
            ])
        case .transfer:
            .group([
                field("To the customer", .to, "to", call),
                field(
                    "Only this purchase (original transaction id)", .purchase, "purchase", call, isNeeded: false),
            ])
        case .claim: field("For the customer", .customer, "customer", call)
        case .grant:
            .group([
                select("Entitlement", .entitlement, "entitlement", entitlements(call), call),
                select(
                    "For", .duration, "duration",
                    GrantDuration.allCases.map { ($0.rawValue, $0.words) }, call),
            ])
        case .revoke: select("Entitlement", .entitlement, "entitlement", entitlements(call), call)
        case .endpointPause:
            select(
                "Until", .until, "until",
                [("1 hour", Int64(1)), ("4 hours", 4), ("1 day", 24), ("3 days", 72)].map { words, hours in
                    let instant = Timestamp.text(call.clock.now + hours * 3_600_000)
                    return (instant, "\(instant), for \(words)")
                }, call)
        case .eventResend: try endpoints(call)
        case .refundAnswer: refund(call)
        case .endpointRotateSecret: rotation(call)
        case .purchaseExtend: renewal(call)
        case .endpointAdd: try endpointFields(nil, call)
        case .endpointChange: try endpointFields(ChangePages.subject(of: call)["id"] ?? "", call)
        case .customerDelete: policy(call)
        case .orderLookup: order(call)
        case .endpointRemove, .endpointTest, .noteRemove, .resend, .reprocess, .endpointEnable, .endpointDisable,
            .jobCancel, .bulkResend, .bulkGiveUp,
            .bulkReprocess, .customerResend, .customerGiveUp, .statusPoll, .replayWebhooks, .replayHistory,
            .outageLook, .bulkGrant:
            .none
        }
    }

    /// Both say what is asked about, so that a link can name them.
    private func order(_ call: PageCall) -> Node {
        let subject = ChangePages.subject(of: call)
        return .group([
            field("Order number", .order, "order_id", call, value: subject["order_id"]),
            select(
                "App", .app, "app",
                [("", "every app")] + call.desk.apps.map { ($0, $0) }, call, chosen: subject["app"]),
        ])
    }

    private func rotation(_ call: PageCall) -> Node {
        .group([
            select(
                "Former secrets sign, too, for", .overlap, "overlap",
                [
                    ("24h", "a day at most"), ("1h", "an hour at most"), ("7d", "a week at most"),
                    ("0s", "no more: consumers reject webhooks until they have the new one"),
                ], call),
            hidden("Secret that the consumer has already (empty: a new one)", .secret, "secret"),
        ])
    }

    private func renewal(_ call: PageCall) -> Node {
        .group([
            Tag.div(.classes(.field)) {
                Tag.label(.label(for: .days)) { "Days" }
                Tag.input(
                    .id(.days), .name("days"), .type(.text), .value(call.form["days"] ?? ""), .required,
                    .autocomplete(.off), .unspelled, .maxLength(2))
            },
            select(
                "Reason for Apple", .appleReason, "apple_reason",
                RenewalExtensionTerms.reasons.map { ($0, $0) }, call),
        ])
    }

    private func refund(_ call: PageCall) -> Node {
        .group([
            select(
                "Decision that you prefer", .preference, "preference",
                [
                    ("", "none"), ("decline", "no refund"), ("grant_full", "all of the money"),
                    ("grant_prorated", "a part of the money"),
                ], call),
            select(
                "Delivery", .delivery, "delivery",
                [
                    ("delivered", "it was delivered and worked"), ("quality_issue", "it had a fault"),
                    ("wrong_item", "another thing was delivered"), ("server_outage", "a server was not there"),
                    ("other", "it was not delivered for another reason"),
                ], call),
            field("Per cent that was used (not of what renews)", .consumed, "consumed", call, isNeeded: false),
            select(
                "The customer could try it before", .sample, "sample_content", [("false", "no"), ("true", "yes")], call),
            select(
                "The customer agreed that Apple gets this information", .consent, "consent",
                [("false", "no: nothing is sent"), ("true", "yes, the customer agreed")], call),
        ])
    }

    /// All, or one of those that have it.
    private func endpoints(_ call: PageCall) throws -> Node {
        let id = ChangePages.subject(of: call)["id"] ?? ""
        var known: [String] = []
        do {
            known = try call.ask { try $0.event(id).deliveries.map(\.endpoint) }
        } catch let error as DeskError where error.status == 400 || error.status == 404 {
            // What is wrong with the id is told when the form is sent.
        }
        return select(
            "To", .endpoint, "endpoint",
            [("", "every endpoint that takes it")] + Set(known).sorted().map { ($0, $0) }, call)
    }

    private func entitlements(_ call: PageCall) -> [(value: String, text: String)] {
        call.desk.catalogue.products.keys.sorted().map { ($0, $0) }
    }

    private func policy(_ call: PageCall) -> Node {
        let standard = call.desk.deletion
        let words: [DeletionPolicy: String] = [
            .pseudonymise: "pseudonymise: purchases, events and the log stay, without a name",
            .erase: "erase: everything about the purchases goes, too",
        ]
        let others = DeletionPolicy.allCases.filter { $0 != standard }
        return select(
            "How", .policy, "policy", ([standard] + others).map { ($0.rawValue, words[$0] ?? $0.rawValue) }, call)
    }

    func select(
        _ title: String, _ id: ElementID, _ name: String, _ choices: [(value: String, text: String)], _ call: PageCall,
        chosen: String? = nil
    ) -> Node {
        let given = chosen ?? call.form[name]
        // What was chosen stays chosen, also where the choices are counted from now.
        let kept: [(value: String, text: String)]? = given.flatMap { value in
            choices.contains { $0.value == value } ? nil : [(value: value, text: value)]
        }
        return Tag.div(.classes(.field)) {
            Tag.label(.label(for: id)) { title }
            Tag.select(.id(id), .name(name)) {
                for choice in (kept ?? []) + choices {
                    Tag.option(.value(choice.value), choice.value == given ? .selected : nil) { choice.text }
                }
            }
        }
    }
}
