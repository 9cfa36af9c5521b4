/// Every metric of every process. What several workers have adds up, unless its meaning says otherwise: each speaks of
/// its own lanes.
extension Metric {
    package static let all: [Metric] = arriving + waiting + sending + asking + keeping + listening + cluster

    // MARK: - What arrives

    package static let ingestAnswers = Metric(
        "entitled_ingest_answers_total", .counter, labels: ["answer"],
        "Answers of the endpoint for Apple, by result: `accepted`, `duplicate`, `503`, or the reason of the rejection.")
    package static let ingestRefusedSigned = Metric(
        "entitled_ingest_refused_signed_total", .counter, labels: ["bundle_id", "environment", "reason"],
        "Rejected notifications with a valid signature, for example of an app that is not configured.")
    package static let ingestCommitSeconds = Metric(
        "entitled_ingest_commit_seconds", .histogram(seconds),
        "Time from the verification of a notification to its commit.")
    package static let ingestBatchSize = Metric(
        "entitled_ingest_batch_size", .histogram(sizes), "Notifications per commit of the endpoint for Apple.")
    package static let ocspChecks = Metric(
        "entitled_ocsp_checks_total", .counter, labels: ["result"],
        "Requests to OCSP responders, by result.")
    package static let ocspStatus = Metric(
        "entitled_ocsp_status", .gauge, labels: ["status"],
        "Certificates of verified chains, by revocation status.")

    private static let arriving = [
        ingestAnswers, ingestRefusedSigned, ingestCommitSeconds, ingestBatchSize, ocspChecks, ocspStatus,
    ]

    // MARK: - What waits and is applied

    package static let lanesOwned = Metric(
        "entitled_lanes_owned", .gauge, "Lanes that this worker holds; all workers together hold 256.")
    package static let laneTakeovers = Metric(
        "entitled_lane_takeovers_total", .counter,
        "Lanes taken over from a worker that did not release them because it died or hung.")
    package static let fencesLost = Metric(
        "entitled_fences_lost_total", .counter,
        "Lanes whose lease another worker held when this worker began to write; it wrote nothing.")
    package static let lanesInTrouble = Metric(
        "entitled_lanes_in_trouble", .gauge,
        "Lanes in which applying failed and that are applied apart from the others; the log has the reason.")
    package static let purchasesUnfolded = Metric(
        "entitled_purchases_unfolded", .gauge,
        "Purchases with so many facts that their notifications stay pending until a background fold ends; the log names them."
    )
    package static let purchasesFolded = Metric(
        "entitled_purchases_folded_total", .counter, "Purchases whose facts were folded from the beginning.")
    package static let foldsMended = Metric(
        "entitled_folds_mended_total", .counter,
        "Purchases whose stored fold did not match their facts. The fold was recomputed.")
    package static let pendingOldestSeconds = Metric(
        "entitled_pending_oldest_seconds", .gauge,
        "Age of the oldest pending notification in this worker's lanes; 0 without one. Use the maximum.")
    package static let notifications = Metric(
        "entitled_notifications_total", .counter, labels: ["state"],
        "Notifications that are no longer pending, by new state: `applied` or `held`.")
    package static let divertedOldestSeconds = Metric(
        "entitled_diverted_oldest_seconds", .gauge,
        "Age of the oldest notification that ingest accepted beside the log and that the log does not have yet; 0 without one."
            + " Every worker reports the same value.")
    package static let heldNow = Metric(
        "entitled_held_notifications", .gauge,
        "Notifications that could not be applied and are held; at most 100 per lane are counted.")
    package static let heldRetries = Metric(
        "entitled_held_retries_total", .counter, labels: ["outcome"],
        "Retries of held notifications, by new state: `applied` or `held`.")
    package static let applySeconds = Metric(
        "entitled_apply_seconds", .histogram(seconds),
        "Time of one transaction of a worker that applies notifications.")
    package static let applyBatchSize = Metric(
        "entitled_apply_batch_size", .histogram(sizes), "Notifications per transaction of a worker.")
    package static let timersOverdue = Metric(
        "entitled_timers_overdue", .gauge,
        "Purchases whose timer has been due for over five minutes; at most 100 per lane are counted.")
    package static let consumptionUnanswered = Metric(
        "entitled_consumption_requests_unanswered_total", .counter, labels: ["app"],
        "Apple's consumption requests whose 12 hours passed without an answer or a decision, also with the policy `never`."
    )
    package static let consumptionClosing = Metric(
        "entitled_consumption_requests_closing_total", .counter, labels: ["app"],
        "Apple's consumption requests without an answer two hours before their deadline; those of the policy `never` are not counted."
    )
    package static let refundAnswers = Metric(
        "entitled_refund_answers_total", .counter, labels: ["app", "outcome"],
        "Answers to consumption requests, by outcome: `sent`, `retried` or `failed`.")
    package static let events = Metric(
        "entitled_events_total", .counter, labels: ["reason", "type"],
        "Events that workers made of notifications and of time, by type; CANCELLATION and EXPIRATION also by reason, so that"
            + " CANCELLATION with `CUSTOMER_SUPPORT` is a refund. Sandbox and production.")
    package static let outages = Metric(
        "entitled_outages", .gauge,
        "Outages of ingest of over five minutes in the last 45 days. Every worker reports the same value.")

    private static let waiting = [
        lanesOwned, laneTakeovers, fencesLost, lanesInTrouble, purchasesUnfolded, purchasesFolded, foldsMended,
        pendingOldestSeconds, divertedOldestSeconds, notifications, heldNow, heldRetries, applySeconds,
        applyBatchSize, timersOverdue, consumptionUnanswered, consumptionClosing, refundAnswers, events, outages,
    ]

    // MARK: - What is sent

    package static let deliveriesPastDue = Metric(
        "entitled_deliveries_past_due", .gauge,
        "Deliveries to endpoints that are neither disabled nor paused, due for over a minute; at most 100 per lane and endpoint are counted."
    )
    package static let deliveriesBlockedSeconds = Metric(
        "entitled_deliveries_blocked_oldest_seconds", .gauge,
        "Age of the oldest delivery that is blocked by an earlier one of its purchase, over enabled endpoints with an order; 0 without one. Use the maximum."
    )
    package static let webhookAttempts = Metric(
        "entitled_webhook_attempts_total", .counter, labels: ["outcome"],
        "Attempts to deliver webhooks, by outcome, as `deliveries show` names it.")
    package static let endpointsFailing = Metric(
        "entitled_endpoints_failing", .gauge,
        "Enabled endpoints that have failed long enough for a notice to operators. One worker reports it.")
    package static let endpointsUnreadable = Metric(
        "entitled_endpoints_unreadable", .gauge,
        "Endpoints with a secret, key or header that this worker's sealing keys cannot open; their deliveries stay pending."
    )
    package static let endpointNotices = Metric(
        "entitled_endpoint_notices_total", .counter, labels: ["type"],
        "Notices to operators about endpoints, by type, such as `endpoint.failing` and `endpoint.disabled`.")
    package static let clockDifference = Metric(
        "entitled_clock_difference_seconds", .gauge,
        "How far this host's clock is ahead of the database's; webhooks carry the database's time.")
    package static let clientRequests = Metric(
        "entitled_http_client_requests_total", .counter, labels: ["outcome"],
        "Outgoing requests that ended, by outcome.")
    package static let clientRequestSeconds = Metric(
        "entitled_http_client_request_seconds", .histogram(seconds),
        "Time of outgoing requests, including the name lookup.")
    package static let clientInFlight = Metric(
        "entitled_http_client_in_flight", .gauge, "Outgoing requests in flight.")
    package static let dnsLookups = Metric(
        "entitled_dns_lookups_total", .counter, labels: ["result"], "Name lookups for outgoing requests.")
    package static let dnsLookupSeconds = Metric(
        "entitled_dns_lookup_seconds", .histogram(seconds), "Time of a name lookup.")

    private static let sending = [
        deliveriesPastDue, deliveriesBlockedSeconds, webhookAttempts, endpointsFailing, endpointsUnreadable,
        endpointNotices, clockDifference, clientRequests, clientRequestSeconds, clientInFlight, dnsLookups,
        dnsLookupSeconds,
    ]

    // MARK: - What Apple is asked

    package static let serverAPIRequests = Metric(
        "entitled_server_api_requests_total", .counter, labels: ["group", "outcome"],
        "Requests to Apple's Server API, by kind and outcome.")

    package static let reconcileAge = Metric(
        "entitled_reconcile_age_seconds", .gauge, labels: ["app", "environment"],
        "Time since the end of the scanned part of Apple's notification history. Every worker reports the same value.")
    package static let reconcileMissed = Metric(
        "entitled_reconcile_missed_total", .counter, labels: ["app", "environment"],
        "Notifications of Apple's history that the log lacked; the first scan of an app does not count.")
    package static let reconcileRefused = Metric(
        "entitled_reconcile_refused_total", .counter, labels: ["app", "environment", "reason"],
        "Notifications of Apple's history that were rejected, by reason.")

    package static let statusAnswers = Metric(
        "entitled_status_answers_total", .counter, labels: ["app", "environment", "outcome"],
        "Status polls, by Apple's answer, or `unknown` or `failed`.")
    package static let statusLooks = Metric(
        "entitled_status_looks_due", .gauge, labels: ["app", "environment"],
        "Purchases whose status poll is due, up to 1000. Every worker reports the same value.")

    package static let accountLooks = Metric(
        "entitled_account_looks_total", .counter, labels: ["app", "environment", "outcome"],
        "Accounts of posted purchases about which Apple was asked again, because it had not answered while the app waited: "
            + "`found`, `unknown` or `failed`.")
    package static let accountLooksDue = Metric(
        "entitled_account_looks_due", .gauge, labels: ["app", "environment"],
        "Posted purchases whose Apple accounts are not known whole yet, up to 1000. Every worker reports the same value."
    )

    package static let databaseReturns = Metric(
        "entitled_database_returns_total", .counter, labels: ["reason"],
        "Times that the database was found at an earlier state than before, by how that was noticed: `number`, `cluster`, `timeline`, `adopted` or `restored`."
    )
    package static let databaseReturnPending = Metric(
        "entitled_database_return_pending", .gauge,
        "1 while Apple's history is being scanned because the database went back to an earlier state. One worker reports it."
    )

    private static let asking = [
        serverAPIRequests, reconcileAge, reconcileMissed, reconcileRefused, statusAnswers, statusLooks, accountLooks,
        accountLooksDue, databaseReturns, databaseReturnPending,
    ]

    // MARK: - What is kept

    package static let retentionDays = Metric(
        "entitled_retention_days", .gauge, labels: ["table"],
        "Days with a partition, including future days. Every worker that reports it has the same value.")
    package static let retentionDaysAhead = Metric(
        "entitled_retention_days_ahead", .gauge, labels: ["table"],
        "Future days with a partition; at 0, new rows go to the default partition.")
    package static let retentionStrayRows = Metric(
        "entitled_retention_stray_rows", .gauge, labels: ["table"],
        "Rows in the default partition, which should be empty.")
    package static let retentionBytes = Metric(
        "entitled_retention_bytes", .gauge, labels: ["table"], "Bytes on disk of all day partitions, with indexes.")
    package static let retentionOldestDay = Metric(
        "entitled_retention_oldest_day_seconds", .gauge, labels: ["table"],
        "Start of the oldest stored day, in Unix time.")
    package static let retentionKept = Metric(
        "entitled_retention_kept", .gauge, labels: ["reason", "table"],
        "Days or events that are stored longer than configured, by reason.")
    package static let retentionDaysDropped = Metric(
        "entitled_retention_days_dropped_total", .counter, labels: ["table"], "Day partitions dropped.")
    package static let retentionRowsCleaned = Metric(
        "entitled_retention_rows_cleaned_total", .counter, labels: ["table"],
        "Rows deleted, or, for events, emptied.")

    package static let subscriptions = Metric(
        "entitled_subscriptions", .gauge, labels: ["state"],
        "Subscriptions of production that give access, by state: `paid` or `trial`; as of the last refresh of reports"
            + " (`reports.refresh`). One worker reports it.")
    package static let monthlyRevenue = Metric(
        "entitled_monthly_recurring_revenue_usd", .gauge,
        "What running subscriptions of production bring in a month, in US dollars, as `entitled report` defines it; as of the"
            + " last refresh of reports. Currencies without a rate are not in it. One worker reports it.")

    package static let dutyRuns = Metric(
        "entitled_duty_runs_total", .counter, labels: ["duty", "outcome"],
        "Runs of a worker's background duties, by outcome: `done`, `lost` to another leader, `failed`, or `away` where the"
            + " database was.")

    private static let keeping = [
        dutyRuns, retentionDays, retentionDaysAhead, retentionStrayRows, retentionBytes, retentionOldestDay,
        retentionKept, retentionDaysDropped, retentionRowsCleaned, subscriptions, monthlyRevenue,
    ]

    // MARK: - Listeners and processes

    package static let buildInfo = Metric(
        "entitled_build_info", .gauge, labels: ["version", "revision", "build"],
        "Release, revision and build of this process, as `entitled version` prints them; always 1.")
    package static let configurationHash = Metric(
        "entitled_configuration_hash", .gauge,
        "Hash of the settings that all hosts should share; equal where they are. Addresses, file names and secrets do not"
            + " enter it.")
    package static let configurationReloadFailed = Metric(
        "entitled_configuration_reload_failed", .gauge,
        "Whether the last SIGHUP found a configuration that could not be used, or a role that could not take it; 1 or 0."
    )
    package static let standbyReads = Metric(
        "entitled_api_standby_reads_total", .counter, labels: ["result"],
        "Customers that public keys asked for while there is `database.api_read_url`: `standby` answered; the primary did"
            + " because the standby was `behind` or `unavailable`, or the customer is `unknown` there.")
    package static let certificateEnds = Metric(
        "entitled_tls_certificate_not_after_seconds", .gauge, labels: ["role"],
        "End of the validity of the listener's certificate, in Unix time.")
    package static let privateDatabaseRestarts = Metric(
        "entitled_private_database_restarts_total", .counter,
        "Starts of the private Postgres after it had ended by itself; `private database ended unexpectedly` in the log."
    )
    package static let connections = Metric(
        "entitled_http_connections", .gauge, labels: ["role"], "Open connections.")
    package static let requests = Metric(
        "entitled_http_requests_total", .counter, labels: ["role"], "Requests with a complete head.")
    package static let malformed = Metric(
        "entitled_http_malformed_total", .counter, labels: ["role"], "Requests rejected as ambiguous or malformed.")
    package static let timeouts = Metric(
        "entitled_http_timeouts_total", .counter, labels: ["role"], "Connections closed because a deadline passed.")
    package static let turnedAway = Metric(
        "entitled_http_turned_away_total", .counter, labels: ["role"],
        "Connections closed because the listener had too many.")
    package static let unanswered = Metric(
        "entitled_http_unanswered_total", .counter, labels: ["role"],
        "Requests answered 503 because the database or the worker did not answer in time.")

    package static let apiAnswers = Metric(
        "entitled_api_answers_total", .counter, labels: ["route", "status"],
        "Answers of the REST API, by the route as openapi.yaml names it, or `none`, and the status.")
    package static let apiSeconds = Metric(
        "entitled_api_seconds", .histogram(seconds), labels: ["route"],
        "Time from a request of the REST API to its answer; for receipts, including the application of what was posted."
    )

    package static let apiLimited = Metric(
        "entitled_api_limited_total", .counter, labels: ["limit", "route"],
        "Requests of the REST API rejected by `api.limits`, by the limit and the route; logged as `requests limited`.")

    package static let operatorAnswers = Metric(
        "entitled_operator_answers_total", .counter, labels: ["route", "status"],
        "Answers of the operator API, by the route as operator.yaml names it, or `none`, and the status.")

    package static let consoleSeconds = Metric(
        "entitled_console_seconds", .histogram(seconds), labels: ["page"],
        "Time from a request for a page of the console to its answer, by the page's path with names for its parameters."
    )
    package static let consoleLogins = Metric(
        "entitled_logins_total", .counter, labels: ["outcome"],
        "Attempts of operators to log in to the console: `done`, `wrong`, or `wait` after too many that failed.")
    package static let consoleReports = Metric(
        "entitled_csp_reports_total", .counter,
        "Reports of browsers that a page of the console tried to load or run what its policy forbids; 0 is right.")

    package static let spans = Metric(
        "entitled_spans_total", .counter, labels: ["outcome"],
        "Spans of traces, with `telemetry.otlp_url`: `exported` to the receiver, `dropped` because too many waited for it, or"
            + " `failed` because it did not take them.")

    private static let listening = [
        buildInfo, configurationHash, configurationReloadFailed, certificateEnds, privateDatabaseRestarts, connections,
        requests, malformed, timeouts, turnedAway,
        unanswered,
        apiAnswers, apiSeconds, apiLimited, standbyReads, operatorAnswers, consoleSeconds, consoleLogins,
        consoleReports, spans,
    ]
}
