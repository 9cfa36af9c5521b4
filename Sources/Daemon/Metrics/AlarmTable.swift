/// Every alarm. The rules file is written from this table; `EntitledApp.docc/Runbook.md` has a section for each.
extension Alarm {
    package static let all: [Alarm] = processes + arriving + applying + sending + asking + keeping + answering

    // MARK: - Processes

    private static let processes = [
        Alarm(
            "EntitledAbsent", .page, [.buildInfo], "absent(\(Metric.buildInfo.name))", for: "5m",
            "Prometheus has no metrics of any process of entitled."),
        Alarm(
            "EntitledProcessDown", .page, [], #"up{job=~"entitled.*"} == 0"#, for: "2m",
            "{{ $labels.job }} at {{ $labels.instance }} does not answer Prometheus."),
        Alarm(
            "EntitledVersionsDiffer", .ticket, [.buildInfo],
            "count(count by (version, revision) (\(Metric.buildInfo.name))) > 1", for: "6h",
            "Processes of {{ $value }} different revisions have been running side by side for six hours."),
        Alarm(
            "EntitledConfigurationsDiffer", .ticket, [.configurationHash],
            "count(count_values(\"value\", \(Metric.configurationHash.name))) > 1",
            for: "1h",
            "Processes have been running with {{ $value }} different configurations for an hour."),
        Alarm(
            "EntitledConfigurationReloadFailed", .ticket, [.configurationReloadFailed],
            "\(Metric.configurationReloadFailed.name) > 0", for: "1m",
            "The process at {{ $labels.instance }} goes on with its former configuration, because the new one cannot be used."
        ),
        Alarm(
            "EntitledClockWrong", .ticket, [.clockDifference], "abs(\(Metric.clockDifference.name)) > 60", for: "5m",
            "The clock of {{ $labels.instance }} is {{ $value | humanizeDuration }} away from the database's."),
        Alarm(
            "EntitledConnectionsTurnedAway", .ticket, [.turnedAway],
            "sum by (role, instance)(rate(\(Metric.turnedAway.name)[5m])) > 0", for: "5m",
            "The listener {{ $labels.role }} at {{ $labels.instance }} closes connections because it has too many."),
        Alarm(
            "EntitledTLSCertificateEnds", .ticket, [.certificateEnds],
            "\(Metric.certificateEnds.name) - time() < 7 * 86400",
            "The certificate of the listener {{ $labels.role }} at {{ $labels.instance }} ends in"
                + " {{ $value | humanizeDuration }}."),
        Alarm(
            "EntitledPrivateDatabaseEnded", .ticket, [.privateDatabaseRestarts],
            grew(.privateDatabaseRestarts, by: "instance", in: "1h"),
            "The private Postgres at {{ $labels.instance }} ended by itself, and was started again."),
        Alarm(
            "EntitledDatabaseReturned", .ticket, [.databaseReturns], grew(.databaseReturns, by: "reason", in: "1h"),
            "The database is at an earlier state than before, or may be ({{ $labels.reason }}); Apple's history is scanned."
        ),
        Alarm(
            "EntitledDatabaseReturnPending", .ticket, [.databaseReturnPending],
            "max(\(Metric.databaseReturnPending.name)) > 0", for: "30m",
            "The database went back, and Apple's history is still not scanned to the end."),
        Alarm(
            "EntitledClusterServerAway", .page, [.clusterServers],
            #"max by (server)(\#(Metric.clusterServers.name){state="away"}) > 0"#, for: "2m",
            "The server {{ $labels.server }} of the cluster does not answer the coordinator; its lanes wait."),
        Alarm(
            "EntitledPreparedTransactionsLeft", .ticket, [.clusterPreparedSeconds],
            "max by (server)(\(Metric.clusterPreparedSeconds.name)) > 300",
            "A transaction that was prepared on {{ $labels.server }} {{ $value | humanizeDuration }} ago has not ended; its locks"
                + " stay."),
    ]

    // MARK: - Ingest

    private static let arriving = [
        Alarm(
            "EntitledIngestUnavailable", .page, [.ingestAnswers],
            #"sum(rate(\#(Metric.ingestAnswers.name){answer=~"503|unavailable"}[5m])) > 0"#, for: "2m",
            "Ingest answers Apple 503: notifications are not stored, and Apple repeats them later."),
        Alarm(
            "EntitledIngestSlow", .ticket, [.ingestCommitSeconds], isSlow(.ingestCommitSeconds, beyond: 1), for: "10m",
            "Storing a notification takes {{ $value | humanizeDuration }} (99th percentile)."),
        Alarm(
            "EntitledSignedNotificationRejected", .ticket, [.ingestRefusedSigned],
            grew(.ingestRefusedSigned, by: "bundle_id, environment, reason", in: "1h"),
            "Notifications of {{ $labels.bundle_id }} ({{ $labels.environment }}) that Apple signed are rejected:"
                + " {{ $labels.reason }}."),
        Alarm(
            "EntitledSigningCertificateRevoked", .page, [.ocspStatus],
            #"max(\#(Metric.ocspStatus.name){status="revoked"}) > 0"#,
            "A certificate that signs notifications is revoked; what it signed is rejected."),
        Alarm(
            "EntitledOutage", .ticket, [.outages], "max(delta(\(Metric.outages.name)[1h])) > 0",
            "Ingest could store no notification for over five minutes."),
    ]

    // MARK: - Applying

    private static let applying = [
        Alarm(
            "EntitledLanesUnowned", .page, [.lanesOwned], "(sum(\(Metric.lanesOwned.name)) or vector(0)) < 256",
            for: "2m",
            "Workers hold {{ $value }} of 256 lanes; the notifications of the others are not applied."),
        Alarm(
            "EntitledLanesFailing", .page, [.lanesInTrouble],
            "sum(min_over_time(\(Metric.lanesInTrouble.name)[5m])) > 0",
            "Applying has been failing in {{ $value }} lanes for five minutes."),
        Alarm(
            "EntitledNotificationsPending", .page, [.pendingOldestSeconds],
            "max(\(Metric.pendingOldestSeconds.name)) > 60", for: "5m",
            "The oldest notification has been pending for {{ $value | humanizeDuration }}."),
        Alarm(
            "EntitledNotificationsDiverted", .ticket, [.divertedOldestSeconds],
            "max(\(Metric.divertedOldestSeconds.name)) > 900",
            "Notifications that were accepted beside the log have been waiting to be put into it for"
                + " {{ $value | humanizeDuration }}."),
        Alarm(
            "EntitledNotificationsHeld", .ticket, [.heldNow], "sum(\(Metric.heldNow.name)) > 0",
            "{{ $value }} notifications cannot be applied and are held."),
        Alarm(
            "EntitledHeldRetriesFail", .ticket, [.heldRetries],
            grew(.heldRetries, #"{outcome="held"}"#, by: "", in: "1d"),
            "Held notifications were retried and still cannot be applied."),
        Alarm(
            "EntitledApplySlow", .ticket, [.applySeconds], isSlow(.applySeconds, beyond: 2), for: "10m",
            "A transaction that applies notifications takes {{ $value | humanizeDuration }} (99th percentile)."),
        Alarm(
            "EntitledTimersOverdue", .ticket, [.timersOverdue], "sum(\(Metric.timersOverdue.name)) > 0", for: "5m",
            "{{ $value }} purchases have a timer that is overdue: their ends and events are late."),
        Alarm(
            "EntitledLaneTakeovers", .ticket, [.laneTakeovers], grew(.laneTakeovers, by: "", in: "15m"),
            "A worker took over lanes of another one that died or hung."),
        Alarm(
            "EntitledFencesLost", .ticket, [.fencesLost], grew(.fencesLost, by: "instance", in: "15m"),
            "The worker at {{ $labels.instance }} lost lanes while it worked on them, and wrote nothing."),
        Alarm(
            "EntitledFoldsMended", .ticket, [.foldsMended], grew(.foldsMended, by: "instance", in: "1h"),
            "The worker at {{ $labels.instance }} found stored folds that did not match their facts, and recomputed them."
        ),
    ]

    // MARK: - Webhooks

    private static let sending = [
        Alarm(
            "EntitledDeliveriesPastDue", .page, [.deliveriesPastDue], "sum(\(Metric.deliveriesPastDue.name)) > 100",
            for: "10m", "{{ $value }} deliveries have been due for over a minute."),
        Alarm(
            "EntitledDeliveriesBlocked", .ticket, [.deliveriesBlockedSeconds],
            "max(\(Metric.deliveriesBlockedSeconds.name)) > 3600",
            "A delivery has been waiting for an earlier one of its purchase for {{ $value | humanizeDuration }}."),
        Alarm(
            "EntitledAttemptsFail", .ticket, [.webhookAttempts],
            #"sum(rate(\#(Metric.webhookAttempts.name){outcome!="delivered"}[15m])) / sum(rate(\#(Metric.webhookAttempts.name)[15m])) > 0.1"#,
            for: "15m", "{{ $value | humanizePercentage }} of the attempts to deliver webhooks fail."),
        Alarm(
            "EntitledEndpointFailing", .ticket, [.endpointsFailing], "max(\(Metric.endpointsFailing.name)) > 0",
            "{{ $value }} endpoints have been failing for over a day."),
        Alarm(
            "EntitledEndpointDisabled", .page, [.endpointNotices],
            grew(.endpointNotices, #"{type="endpoint.disabled"}"#, by: "", in: "1h"),
            "An endpoint failed for so long that it was disabled; its events are held."),
        Alarm(
            "EntitledEndpointUnreadable", .page, [.endpointsUnreadable], "max(\(Metric.endpointsUnreadable.name)) > 0",
            for: "2m", "A worker cannot open the secrets of {{ $value }} endpoints; their deliveries stay pending."),
    ]

    // MARK: - Apple's Server API

    private static let asking = [
        Alarm(
            "EntitledServerAPIUnauthorized", .page, [.serverAPIRequests],
            grew(.serverAPIRequests, #"{outcome="unauthorized"}"#, by: "", in: "15m"),
            "Apple rejects a key of apps[].server_api."),
        Alarm(
            "EntitledNotificationsMissed", .ticket, [.reconcileMissed],
            grew(.reconcileMissed, by: "app, environment", in: "1h"),
            "Apple's history had notifications of {{ $labels.app }} ({{ $labels.environment }}) that never arrived; they"
                + " are stored now."),
        Alarm(
            "EntitledHistoryBehind", .ticket, [.reconcileAge],
            "max by (app, environment)(\(Metric.reconcileAge.name)) > 4 * 3600",
            "Apple's history of {{ $labels.app }} ({{ $labels.environment }}) has not been scanned for"
                + " {{ $value | humanizeDuration }}."),
        Alarm(
            "EntitledHistoryRejected", .ticket, [.reconcileRefused],
            grew(.reconcileRefused, by: "app, environment, reason", in: "1d"),
            "Notifications in Apple's history of {{ $labels.app }} ({{ $labels.environment }}) are rejected:"
                + " {{ $labels.reason }}."),
        Alarm(
            "EntitledStatusPollsBehind", .ticket, [.statusLooks],
            "max by (app, environment)(min_over_time(\(Metric.statusLooks.name)[6h])) > 500",
            "{{ $value }} purchases of {{ $labels.app }} ({{ $labels.environment }}) wait for Apple's status."),
        Alarm(
            "EntitledAccountLooksDue", .ticket, [.accountLooksDue],
            "max by (app, environment)(min_over_time(\(Metric.accountLooksDue.name)[15m])) > 0",
            "{{ $value }} posted purchases of {{ $labels.app }} ({{ $labels.environment }}) have been waiting for Apple's"
                + " word on the rest of their accounts."),
        Alarm(
            "EntitledRefundAnswerDue", .page, [.consumptionClosing], grew(.consumptionClosing, by: "app", in: "1h"),
            "A consumption request of {{ $labels.app }} has no answer, and two hours are left."),
        Alarm(
            "EntitledRefundAnswersFail", .ticket, [.refundAnswers],
            grew(.refundAnswers, #"{outcome="failed"}"#, by: "app", in: "1d"),
            "Apple rejected an answer to a consumption request of {{ $labels.app }}."),
    ]

    // MARK: - Retention

    private static let keeping = [
        Alarm(
            "EntitledDutyFailing", .ticket, [.dutyRuns], fails(.dutyRuns, by: "duty, instance", in: "30m"),
            for: "15m",
            "The background duty {{ $labels.duty }} at {{ $labels.instance }} fails each time."),
        Alarm(
            "EntitledPartitionsMissing", .page, [.retentionDaysAhead], "min(\(Metric.retentionDaysAhead.name)) < 1",
            for: "1h", "The partition of tomorrow is missing."),
        Alarm(
            "EntitledRowsWithoutPartition", .ticket, [.retentionStrayRows],
            "max by (table)(\(Metric.retentionStrayRows.name)) > 0",
            "{{ $value }} rows of {{ $labels.table }} are in the default partition."),
        Alarm(
            "EntitledRetentionLate", .ticket, [.retentionKept],
            "max by (table, reason)(\(Metric.retentionKept.name)) > 0", for: "6h",
            "Data of {{ $labels.table }} is stored longer than configured: {{ $labels.reason }}."),
    ]

    // MARK: - REST

    private static let answering = [
        Alarm(
            "EntitledAPIErrors", .page, [.apiAnswers],
            #"sum by (route)(rate(\#(Metric.apiAnswers.name){status=~"5.."}[5m])) > 0"#, for: "5m",
            "The REST API answers {{ $labels.route }} with errors of its own."),
        Alarm(
            "EntitledAPISlow", .ticket, [.apiSeconds], isSlow(.apiSeconds, beyond: 2), for: "10m",
            "Requests of the REST API take {{ $value | humanizeDuration }} (99th percentile)."),
        Alarm(
            "EntitledPublicKeyLimited", .page, [.apiLimited],
            #"sum by (route)(rate(\#(Metric.apiLimited.name){limit="public_key"}[5m])) > 0"#, for: "2m",
            "Requests of the whole app exceed api.limits.public_key at {{ $labels.route }}."),
    ]
}
