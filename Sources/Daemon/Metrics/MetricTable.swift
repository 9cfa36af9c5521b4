/// Every metric of every process. What several workers have adds up, unless its meaning says otherwise: each speaks of
/// its own lanes.
extension Metric {
    package static let all: [Metric] = arriving + waiting + sending + asking + keeping + listening

    // MARK: - What arrives

    package static let ingestAnswers = Metric(
        "entitled_ingest_answers_total", .counter, labels: ["answer"],
        "Answers of the store's endpoint, by what they said: `accepted`, `duplicate`, `503`, or why it was refused.",
        alarm: #"rate(entitled_ingest_answers_total{answer=~"503|unavailable"}[5m]) > 0"#)
    package static let ingestRefusedSigned = Metric(
        "entitled_ingest_refused_signed_total", .counter, labels: ["bundle_id", "environment", "reason"],
        "Notifications that Apple signed and that were refused, as when an app or environment is not configured.",
        alarm: "increase(entitled_ingest_refused_signed_total[1h]) > 0")
    package static let ingestCommitSeconds = Metric(
        "entitled_ingest_commit_seconds", .histogram(seconds), "From a verified notification to its commit.",
        alarm: "histogram_quantile(0.99, rate(entitled_ingest_commit_seconds_bucket[5m])) > 1")
    package static let ingestBatchSize = Metric(
        "entitled_ingest_batch_size", .histogram(sizes), "Notifications of one commit of the store's endpoint.")
    package static let ocspChecks = Metric(
        "entitled_ocsp_checks_total", .counter, labels: ["result"],
        "Questions whether a certificate is revoked, by what came back.")
    package static let ocspStatus = Metric(
        "entitled_ocsp_status", .gauge, labels: ["status"],
        "Certificates of verified chains, by what is known about their revocation.",
        alarm: #"entitled_ocsp_status{status="revoked"} > 0"#)

    private static let arriving = [
        ingestAnswers, ingestRefusedSigned, ingestCommitSeconds, ingestBatchSize, ocspChecks, ocspStatus,
    ]

    // MARK: - What waits and is applied

    package static let lanesOwned = Metric(
        "entitled_lanes_owned", .gauge, "Lanes that this worker owns; of all workers together, 256.",
        alarm: "sum(entitled_lanes_owned) < 256")
    package static let laneTakeovers = Metric(
        "entitled_lane_takeovers_total", .counter,
        "Lanes taken from a worker that did not give them back: it died or stood still.",
        alarm: "increase(entitled_lane_takeovers_total[15m]) > 0")
    package static let fencesLost = Metric(
        "entitled_fences_lost_total", .counter,
        "Lanes that had another owner when this worker came to write; nothing was written.",
        alarm: "increase(entitled_fences_lost_total[15m]) > 0")
    package static let lanesInTrouble = Metric(
        "entitled_lanes_in_trouble", .gauge,
        "Lanes in which applying failed, and which are worked on apart from the others; the log says why.",
        alarm: "min_over_time(entitled_lanes_in_trouble[5m]) > 0")
    package static let purchasesUnfolded = Metric(
        "entitled_purchases_unfolded", .gauge,
        "Purchases with so many facts that their notifications wait until they are folded; the log names them.")
    package static let purchasesFolded = Metric(
        "entitled_purchases_folded_total", .counter, "Purchases whose facts were folded anew from the beginning.")
    package static let foldsMended = Metric(
        "entitled_folds_mended_total", .counter,
        "Purchases of which was kept what their facts do not come to. It was made anew.",
        alarm: "increase(entitled_folds_mended_total[1h]) > 0")
    package static let pendingOldestSeconds = Metric(
        "entitled_pending_oldest_seconds", .gauge,
        "Age of the oldest notification that waits in this worker's lanes; 0 where none waits. Take the maximum.",
        alarm: "max(entitled_pending_oldest_seconds) > 60")
    package static let notifications = Metric(
        "entitled_notifications_total", .counter, labels: ["state"],
        "Notifications that left their line, by what became of them: `applied` or `held`.",
        alarm: #"increase(entitled_notifications_total{state="held"}[15m]) > 0"#)
    package static let heldNow = Metric(
        "entitled_held_notifications", .gauge,
        "Notifications that could not be applied and wait to be tried again; 100 of a lane are counted.",
        alarm: "sum(entitled_held_notifications) > 0")
    package static let heldRetries = Metric(
        "entitled_held_retries_total", .counter, labels: ["outcome"],
        "Held notifications that were tried again: `applied` or `held` once more.",
        alarm: #"increase(entitled_held_retries_total{outcome="held"}[1d]) > 0"#)
    package static let applySeconds = Metric(
        "entitled_apply_seconds", .histogram(seconds), "One transaction of a worker that applies notifications.",
        alarm: "histogram_quantile(0.99, rate(entitled_apply_seconds_bucket[5m])) > 2")
    package static let applyBatchSize = Metric(
        "entitled_apply_batch_size", .histogram(sizes), "Notifications of one transaction of a worker.")
    package static let timersOverdue = Metric(
        "entitled_timers_overdue", .gauge,
        "Purchases whose time came over five minutes ago and that nobody looked at; 100 of a lane are counted.",
        alarm: "sum(entitled_timers_overdue) > 0")
    package static let consumptionUnanswered = Metric(
        "entitled_consumption_requests_unanswered_total", .counter, labels: ["app"],
        "Apple's consumption requests whose 12 hours passed without an answer or a decision, also where nobody means to answer."
    )
    package static let consumptionClosing = Metric(
        "entitled_consumption_requests_closing_total", .counter, labels: ["app"],
        "Apple's consumption requests that were not answered two hours before their time was over, though somebody means to.",
        alarm: "increase(entitled_consumption_requests_closing_total[1h]) > 0")
    package static let refundAnswers = Metric(
        "entitled_refund_answers_total", .counter, labels: ["app", "outcome"],
        "Answers to consumption requests, by what came of sending them: `sent`, `retried` or `failed`.",
        alarm: #"increase(entitled_refund_answers_total{outcome="failed"}[1d]) > 0"#)
    package static let outages = Metric(
        "entitled_outages", .gauge,
        "Times of over five minutes in the last 45 days in which no ingest could store anything. The same of each worker.",
        alarm: "max(delta(entitled_outages[1h])) > 0")

    private static let waiting = [
        lanesOwned, laneTakeovers, fencesLost, lanesInTrouble, purchasesUnfolded, purchasesFolded, foldsMended,
        pendingOldestSeconds, notifications, heldNow, heldRetries, applySeconds,
        applyBatchSize, timersOverdue, consumptionUnanswered, consumptionClosing, refundAnswers, outages,
    ]

    // MARK: - What is sent

    package static let deliveriesPastDue = Metric(
        "entitled_deliveries_past_due", .gauge,
        "Deliveries to endpoints that are neither disabled nor paused, due for over a minute; 100 of a lane and endpoint are counted.",
        alarm: "sum(entitled_deliveries_past_due) > 100")
    package static let deliveriesBlockedSeconds = Metric(
        "entitled_deliveries_blocked_oldest_seconds", .gauge,
        "How long the one waits that waits longest for an earlier delivery of its purchase, to endpoints with an order that are enabled; 0 where none waits. Take the maximum.",
        alarm: "max(entitled_deliveries_blocked_oldest_seconds) > 3600")
    package static let webhookAttempts = Metric(
        "entitled_webhook_attempts_total", .counter, labels: ["outcome"],
        "Attempts to deliver webhooks, by what came of them, as `deliveries show` names it.",
        alarm:
            #"sum(rate(entitled_webhook_attempts_total{outcome!="delivered"}[15m])) / sum(rate(entitled_webhook_attempts_total[15m])) > 0.1"#
    )
    package static let endpointsFailing = Metric(
        "entitled_endpoints_failing", .gauge,
        "Endpoints that have failed for so long that operators were warned, disabled ones left out; told by one worker.",
        alarm: "max(entitled_endpoints_failing) > 0")
    package static let endpointsUnreadable = Metric(
        "entitled_endpoints_unreadable", .gauge,
        "Endpoints with a secret, key or header that this worker's sealing keys do not open; their deliveries stay pending.",
        alarm: "max(entitled_endpoints_unreadable) > 0")
    package static let endpointNotices = Metric(
        "entitled_endpoint_notices_total", .counter, labels: ["type"],
        "What operators were told about endpoints: `endpoint.failing`, `endpoint.disabled` and the like.",
        alarm: #"increase(entitled_endpoint_notices_total{type="endpoint.disabled"}[1h]) > 0"#)
    package static let clockDifference = Metric(
        "entitled_clock_difference_seconds", .gauge,
        "How far this host's clock is ahead of the database's; webhooks carry the database's time.",
        alarm: "max(abs(entitled_clock_difference_seconds)) > 60")
    package static let clientRequests = Metric(
        "entitled_http_client_requests_total", .counter, labels: ["outcome"], "Outgoing requests that ended.")
    package static let clientRequestSeconds = Metric(
        "entitled_http_client_request_seconds", .histogram(seconds),
        "Time of outgoing requests, name lookup included.")
    package static let clientInFlight = Metric(
        "entitled_http_client_in_flight", .gauge, "Outgoing requests not ended.")
    package static let dnsLookups = Metric(
        "entitled_dns_lookups_total", .counter, labels: ["result"], "Names looked up for outgoing requests.")
    package static let dnsLookupSeconds = Metric(
        "entitled_dns_lookup_seconds", .histogram(seconds), "Time of looking up a name.")

    private static let sending = [
        deliveriesPastDue, deliveriesBlockedSeconds, webhookAttempts, endpointsFailing, endpointsUnreadable,
        endpointNotices, clockDifference, clientRequests, clientRequestSeconds, clientInFlight, dnsLookups,
        dnsLookupSeconds,
    ]

    // MARK: - What Apple is asked

    package static let serverAPIRequests = Metric(
        "entitled_server_api_requests_total", .counter, labels: ["group", "outcome"],
        "Requests of Apple's Server API, by what they were about and what came back.",
        alarm: #"increase(entitled_server_api_requests_total{outcome="unauthorized"}[15m]) > 0"#)

    package static let reconcileAge = Metric(
        "entitled_reconcile_age_seconds", .gauge, labels: ["app", "environment"],
        "How long ago Apple's notification history was looked through up to then. The same of each worker.",
        alarm: "max by (app, environment) (entitled_reconcile_age_seconds) > 14400")
    package static let reconcileMissed = Metric(
        "entitled_reconcile_missed_total", .counter, labels: ["app", "environment"],
        "Notifications that Apple sent and we did not have; the first look at an app does not count.",
        alarm: "increase(entitled_reconcile_missed_total[1h]) > 0")
    package static let reconcileRefused = Metric(
        "entitled_reconcile_refused_total", .counter, labels: ["app", "environment", "reason"],
        "Notifications of Apple's history that were not taken, by the reason.",
        alarm: "increase(entitled_reconcile_refused_total[1d]) > 0")

    package static let statusAnswers = Metric(
        "entitled_status_answers_total", .counter, labels: ["app", "environment", "outcome"],
        "Purchases of which news was missing that Apple was asked about: how they stand, or `unknown` or `failed`.")
    package static let statusLooks = Metric(
        "entitled_status_looks_due", .gauge, labels: ["app", "environment"],
        "Purchases that Apple is to be asked about by now, up to 1000. The same of each worker.",
        alarm: "min_over_time(entitled_status_looks_due[6h]) > 500")

    package static let accountLooks = Metric(
        "entitled_account_looks_total", .counter, labels: ["app", "environment", "outcome"],
        "Accounts of posted purchases that Apple was asked about again, because it had not answered while the app waited: "
            + "`found`, `unknown` or `failed`.")
    package static let accountLooksDue = Metric(
        "entitled_account_looks_due", .gauge, labels: ["app", "environment"],
        "Posted purchases whose Apple accounts are not known whole yet, up to 1000. The same of each worker.",
        alarm: "min_over_time(entitled_account_looks_due[15m]) > 0")

    private static let asking = [
        serverAPIRequests, reconcileAge, reconcileMissed, reconcileRefused, statusAnswers, statusLooks, accountLooks,
        accountLooksDue,
    ]

    // MARK: - What is kept

    package static let retentionDays = Metric(
        "entitled_retention_days", .gauge, labels: ["table"],
        "Days that have a partition, those to come included. The same of each worker that tells it.")
    package static let retentionDaysAhead = Metric(
        "entitled_retention_days_ahead", .gauge, labels: ["table"],
        "Days to come that have a partition; at 0 the default one takes what arrives.",
        alarm: "min(entitled_retention_days_ahead) < 1")
    package static let retentionStrayRows = Metric(
        "entitled_retention_stray_rows", .gauge, labels: ["table"],
        "Rows in the default partition, where none should be.", alarm: "max(entitled_retention_stray_rows) > 0")
    package static let retentionBytes = Metric(
        "entitled_retention_bytes", .gauge, labels: ["table"], "Bytes on disk of all days, with indexes.")
    package static let retentionOldestDay = Metric(
        "entitled_retention_oldest_day_seconds", .gauge, labels: ["table"],
        "When the oldest day begins that is kept, in Unix time.")
    package static let retentionKept = Metric(
        "entitled_retention_kept", .gauge, labels: ["reason", "table"],
        "Days, or events, that stay longer than they should, by the reason.",
        alarm: "max(entitled_retention_kept) > 0")
    package static let retentionDaysDropped = Metric(
        "entitled_retention_days_dropped_total", .counter, labels: ["table"], "Days that were dropped.")
    package static let retentionRowsCleaned = Metric(
        "entitled_retention_rows_cleaned_total", .counter, labels: ["table"],
        "Rows that were deleted, or emptied in the case of events.")

    private static let keeping = [
        retentionDays, retentionDaysAhead, retentionStrayRows, retentionBytes, retentionOldestDay, retentionKept,
        retentionDaysDropped, retentionRowsCleaned,
    ]

    // MARK: - Listeners and processes

    package static let buildInfo = Metric(
        "entitled_build_info", .gauge, labels: ["version", "revision", "build"],
        "Release, revision and build of this process, as `entitled version` prints them; always 1.",
        alarm: "absent(entitled_build_info)")
    package static let certificateEnds = Metric(
        "entitled_tls_certificate_not_after_seconds", .gauge, labels: ["role"],
        "When the listener's certificate ends, in Unix time.",
        alarm: "entitled_tls_certificate_not_after_seconds - time() < 7 * 86400")
    package static let privateDatabaseRestarts = Metric(
        "entitled_private_database_restarts_total", .counter,
        "Starts of the private Postgres after it had ended by itself; `private database ended unexpectedly` in the log.",
        alarm: "increase(entitled_private_database_restarts_total[1h]) > 0")
    package static let connections = Metric(
        "entitled_http_connections", .gauge, labels: ["role"], "Open connections.")
    package static let requests = Metric(
        "entitled_http_requests_total", .counter, labels: ["role"], "Requests whose head was read.")
    package static let malformed = Metric(
        "entitled_http_malformed_total", .counter, labels: ["role"], "Requests refused as ambiguous or malformed.")
    package static let timeouts = Metric(
        "entitled_http_timeouts_total", .counter, labels: ["role"], "Connections cut because a deadline passed.")
    package static let turnedAway = Metric(
        "entitled_http_turned_away_total", .counter, labels: ["role"],
        "Connections closed because there were too many.", alarm: "rate(entitled_http_turned_away_total[5m]) > 0")

    package static let apiAnswers = Metric(
        "entitled_api_answers_total", .counter, labels: ["route", "status"],
        "Answers of the REST API, by the route as openapi.yaml names it, or `none`, and the status.",
        alarm: #"rate(entitled_api_answers_total{status=~"5.."}[5m]) > 0"#)
    package static let apiSeconds = Metric(
        "entitled_api_seconds", .histogram(seconds), labels: ["route"],
        "From a request of the REST API to its answer; of receipts with what has to be applied first.",
        alarm: #"histogram_quantile(0.99, sum by (le) (rate(entitled_api_seconds_bucket[5m]))) > 2"#)

    package static let apiLimited = Metric(
        "entitled_api_limited_total", .counter, labels: ["limit", "route"],
        "Requests of the REST API refused by `api.limits`, by the limit and the route; logged as `requests limited`.",
        alarm: #"rate(entitled_api_limited_total{limit="public_key"}[5m]) > 0"#)

    private static let listening = [
        buildInfo, certificateEnds, privateDatabaseRestarts, connections, requests, malformed, timeouts, turnedAway,
        apiAnswers, apiSeconds, apiLimited,
    ]
}
