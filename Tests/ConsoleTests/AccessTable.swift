import Base
import Database

/// Who may ask for what, written down a second time: a route that is not here fails the test of the matrix, and so does one that
/// answers another role.
enum AccessTable {
    enum Access: Equatable {
        /// Also without a session.
        case everybody
        case roles(Set<OperatorRole>)
    }

    private static let all = Access.roles(Set(OperatorRole.allCases))
    private static let persons = Access.roles([.support, .operator])
    private static let webhooks = Access.roles([.support, .integrator, .operator, .read])
    private static let records = Access.roles([.support, .operator, .read])
    private static let hosts = Access.roles([.operator])

    /// Pages and forms below `/console`: method and path. `KIND` stands for a change; `changes` has those.
    static let pages: [String: Access] = [
        "GET /": all, "GET /search": .roles([.support, .integrator, .operator, .read]),
        "GET /login": .everybody, "POST /login": .everybody, "GET /link/TOKEN": .everybody,
        "POST /link/TOKEN": .everybody,
        "POST /logout": all, "GET /me": all, "POST /me/password": all, "POST /me/sessions": all,
        "POST /me/zone": all,
        "GET /customers": persons, "GET /customers/ID": persons, "GET /customers/ID/notes": persons,
        "GET /purchases": records, "GET /purchases/APP/ENV/ID": records,
        "GET /events": webhooks, "GET /events/ID": webhooks, "GET /deliveries": webhooks,
        "GET /deliveries/ID": webhooks,
        "GET /endpoints": .roles([.integrator, .operator, .read]),
        "GET /endpoints/ID": .roles([.integrator, .operator, .read]),
        "GET /notifications": records, "GET /notifications/APP/ENV/UUID": records,
        "GET /outages": .roles([.operator, .read]), "GET /outages/NUMBER": .roles([.operator, .read]),
        "GET /refunds": persons, "GET /products": records,
        "GET /jobs": hosts, "GET /jobs/NUMBER": all,
        "GET /charts": .roles([.finance, .operator, .read]), "GET /charts/NAME": .roles([.finance, .operator, .read]),
        "GET /charts/NAME/csv": .roles([.finance, .operator, .read]),
        "GET /audit": all, "GET /changes/NUMBER": all, "GET /settings": hosts,
    ]

    /// The forms of single changes, `GET` and `POST /changes/new/KIND`; nil: there is no form.
    static let changes: [ChangeKind: Set<OperatorRole>?] = [
        .grant: [.support, .operator], .revoke: [.support, .operator],
        .resend: [.support, .integrator, .operator], .eventResend: [.support, .integrator, .operator],
        .reprocess: [.operator], .endpointEnable: [.integrator, .operator], .endpointDisable: [.integrator, .operator],
        .endpointPause: [.integrator, .operator], .jobCancel: [.integrator, .operator],
        .note: [.support, .operator], .noteRemove: [.support, .operator], .alias: [.operator],
        .transfer: [.support, .operator], .claim: [.operator],
        .refundAnswer: [.support, .operator], .purchaseExtend: [.support, .operator],
        .endpointRotateSecret: [.integrator, .operator], .endpointAdd: [.integrator, .operator],
        .endpointChange: [.integrator, .operator], .endpointRemove: [.integrator, .operator],
        .endpointTest: [.integrator, .operator], .customerDelete: [.operator],
        .statusPoll: [.support, .operator], .orderLookup: [.support, .operator],
        .bulkResend: nil, .bulkGiveUp: nil, .bulkReprocess: nil, .customerResend: nil, .customerGiveUp: nil,
        .replayWebhooks: nil, .replayHistory: nil, .outageLook: nil, .bulkGrant: nil,
    ]

    /// The forms of changes of many rows, `GET` and `POST /changes/many/KIND`.
    static let many: [String: Set<OperatorRole>] = [
        "resend": [.integrator, .operator], "give_up": [.integrator, .operator],
        "resend_events": [.integrator, .operator],
        "reprocess": [.operator], "replay_webhooks": [.operator], "replay_history": [.operator],
        "outage_look": [.operator], "grant": [.support, .operator],
    ]

    /// The operator API below `/operator/v1`.
    static let api: [String: Access] = [
        "GET /me": all, "GET /overview": all, "GET /search": .roles([.support, .integrator, .operator, .read]),
        "GET /customers": persons, "GET /customers/{id}": persons, "GET /customers/{id}/timeline": persons,
        "GET /customers/{id}/events": persons, "GET /customers/{id}/notes": persons,
        "GET /purchases": records, "GET /purchases/{app}/{environment}/{id}": records,
        "GET /events": webhooks, "GET /events/{id}": webhooks,
        "GET /deliveries": webhooks, "GET /deliveries/{id}": webhooks,
        "GET /endpoints": .roles([.integrator, .operator, .read]),
        "GET /endpoints/{id}": .roles([.integrator, .operator, .read]),
        "GET /notifications": records, "GET /notifications/{app}/{environment}/{uuid}": records,
        "GET /outages": .roles([.operator, .read]), "GET /outages/{n}": .roles([.operator, .read]),
        "GET /refunds": persons, "GET /products": records,
        "GET /jobs": hosts, "GET /jobs/{n}": all, "GET /actions": hosts, "GET /audit": all,
        "GET /charts": .roles([.finance, .operator, .read]),
        "GET /charts/{name}": .roles([.finance, .operator, .read]),
        "GET /report": .roles([.finance, .operator, .read]), "GET /catalog/check": records,
        "POST /refunds/{transaction}/answer": persons,
        "POST /purchases/{app}/{environment}/{id}/extensions": persons,
        "POST /purchases/{app}/{environment}/{id}/status-looks": persons, "POST /order-lookups": persons,
        "POST /endpoints/{id}/rotate-secret": .roles([.integrator, .operator]),
        "POST /endpoints": .roles([.integrator, .operator]), "PATCH /endpoints/{id}": .roles([.integrator, .operator]),
        "DELETE /endpoints/{id}": .roles([.integrator, .operator]),
        "POST /endpoints/{id}/test": .roles([.integrator, .operator]), "DELETE /customers/{id}": hosts,
        "GET /workers": hosts, "GET /doctor": hosts,
        "POST /customers/{id}/grants": persons, "POST /customers/{id}/grants/revoke": persons,
        "POST /customers/{id}/notes": persons, "POST /customers/{id}/notes/{note}/remove": persons,
        "POST /customers/{id}/aliases": hosts, "POST /customers/{id}/transfers": persons,
        "POST /purchases/{app}/{environment}/{id}/claims": hosts,
        "POST /deliveries/{id}/resends": .roles([.support, .integrator, .operator]),
        "POST /events/{id}/resends": .roles([.support, .integrator, .operator]),
        "POST /notifications/{app}/{environment}/{uuid}/reprocess": hosts,
        "POST /endpoints/{id}/enable": .roles([.integrator, .operator]),
        "POST /endpoints/{id}/disable": .roles([.integrator, .operator]),
        "POST /endpoints/{id}/pause": .roles([.integrator, .operator]),
        "POST /jobs/{id}/cancel": .roles([.integrator, .operator]),
        "POST /jobs": .roles([.support, .integrator, .operator]),
    ]
}
