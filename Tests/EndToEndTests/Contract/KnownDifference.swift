/// Something that schemathesis finds and that is right as it is. What none of these covers is a fault.
struct KnownDifference {
    /// Of what is found (`POST /v1/receipts 400: Schema-valid request rejected`), all.
    let pattern: String
    let reason: String

    func covers(_ finding: String) -> Bool {
        guard let expression = try? Regex(pattern) else { return false }
        return finding.wholeMatch(of: expression) != nil
    }

    /// In our own contract: what no schema can say.
    static let ours = [
        KnownDifference(
            pattern: "POST /v1/receipts 400: Schema-valid request rejected",
            reason: "a token has to be signed by Apple"),
        KnownDifference(
            pattern: #"POST /v1/subscribers/\{app_user_id\}/restore/eligibility 400: Schema-valid request rejected"#,
            reason: "a token has to be signed by Apple"),
        KnownDifference(
            pattern: #"POST /v1/subscribers/\{app_user_id\}/attributes 400: Schema-valid request rejected"#,
            reason: "no schema counts the keys that a customer has, nor knows a mail address"),
        KnownDifference(
            pattern: "POST /apple/transactions 400: Schema-valid request rejected",
            reason: "one of two ids has to be there, and the scene's app has no way to Apple"),
        KnownDifference(
            pattern: #"POST .*/promotional 400: Schema-valid request rejected"#,
            reason: "one of end_time_ms and duration has to be there, and an end has to be one that can be"),
        KnownDifference(
            pattern: #"GET /v2/.* 400: Schema-valid request rejected"#,
            reason: "no schema knows which ids a list has, of which starting_after names one"),
        KnownDifference(
            pattern: #"POST /v2/.*/attributes 400: Schema-valid request rejected"#,
            reason: "no schema counts the keys that a customer has, nor says that each name comes once"),
        KnownDifference(
            pattern: #"POST /v2/.*/customers 400: Schema-valid request rejected"#,
            reason: "an id has characters that are seen, and attributes are as above"),
        KnownDifference(
            pattern: #"POST /v2/.*/(transfer|grant_entitlement) 400: Schema-valid request rejected"#,
            reason: "apps are those of the configuration, and an end has to be one that can be"),
        invisible,
    ]

    /// In the contract of the operator API.
    static let operators = [
        KnownDifference(
            pattern: "GET .* 400: Schema-valid request rejected",
            reason: "no schema says which texts are times, or places in lists that an answer named"),
        KnownDifference(
            pattern: "(POST|PATCH|DELETE) .* 400: Schema-valid request rejected( without a body)?",
            reason: "entitlements are those of the configuration, plans those of previews, and times as above"),
        KnownDifference(
            pattern: "GET .* 200: Schema-violating request accepted with a parameter without a value",
            reason: "a parameter without a value is none: forms send all that they have"),
        KnownDifference(
            pattern: "(POST|PATCH|DELETE) .* 200: Schema-violating request accepted as a preview",
            reason: "a preview needs no Idempotency-Key"),
        KnownDifference(
            pattern: "(POST|PATCH|DELETE) .* 413: Schema-violating request accepted",
            reason: "a body that is too large is refused with 413, which the checker does not expect"),
    ]

    private static let invisible = KnownDifference(
        pattern: ".* 400: Schema-valid request rejected( without a body)? for a character that is not seen",
        reason: "no pattern lists the characters that a new app user id cannot have")

    /// In RevenueCat's document of its API v1.
    static let theirs = [
        invisible,
        KnownDifference(
            pattern: ".* (400|401|403): Undocumented status code",
            reason: "it names refusals of two operations only, and all have them"),
        KnownDifference(
            pattern: #"GET /subscribers/\{app_user_id\}/offerings 400: Schema-valid request rejected"#,
            reason: "it asks for X-Platform where a key is not of one platform, and ours never are"),
        KnownDifference(
            pattern: "POST /receipts 400: Schema-valid request rejected", reason: "a token has to be signed by Apple"),
        KnownDifference(
            pattern: #"POST .*/promotional 400: Schema-valid request rejected"#,
            reason: "its words ask for one of end_time_ms and duration"),
        KnownDifference(
            pattern: #"POST /subscribers/\{app_user_id\}/attributes 400: Schema-valid request rejected"#,
            reason: "a body without attributes, and keys that its words forbid"),
        KnownDifference(
            pattern: #"POST /subscribers/\{app_user_id\}/attributes 200: Schema-violating request accepted"#,
            reason: "it takes the key of its example for one that has to be there"),
        KnownDifference(
            pattern: ".* 400: Schema-valid request rejected without a body",
            reason: "it says of no body that it is needed, and without one there is nothing to do"),
        KnownDifference(
            pattern: #"POST /subscribers/\{app_user_id\}/attribution 200: Schema-violating request accepted"#,
            reason: "of what an attribution network said, all that has no meaning here is passed over"),
        KnownDifference(
            pattern: ".*/(revoke|defer|cancel|refund|extend) 404: Undocumented status code",
            reason: "it names no refusals; purchases of other stores and unknown transactions are not found"),
        KnownDifference(
            pattern: ".*/(promotional|revoke_promotionals|override) 404: Undocumented status code",
            reason: "it names no refusals; an entitlement, an offering or a customer may not be there"),
        KnownDifference(
            pattern: #"DELETE /subscribers/\{app_user_id\} 404: Undocumented status code"#,
            reason: "it names no refusals; a customer who is not there cannot be deleted"),
    ]

    private static let subscriber = ["components", "schemas", "Subscriber", "properties", "subscriber", "properties"]
    private static let subscription = subscriber + ["subscriptions", "additionalProperties", "properties"]

    /// Schemas of it that do not allow null: those whose words do ("will be null until…", `example: null`), and at the end
    /// of each list what RevenueCat always knows, and we do not: names of products, and a price that Apple did not sign.
    static let nullable: [[String]] = {
        let oneTime = subscriber + ["non_subscriptions", "additionalProperties", "items", "properties"]
        return ["management_url", "original_application_version", "original_purchase_date"].map { subscriber + [$0] }
            + [
                "auto_resume_date", "billing_issues_detected_at", "expires_date", "grace_period_expires_date",
                "refunded_at", "unsubscribe_detected_at", "display_name", "price",
            ].map { subscription + [$0] } + ["display_name", "price"].map { oneTime + [$0] }
    }()
}
