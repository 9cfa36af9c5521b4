/// What operators look at, from Apple's notification to the consumer's answer.
extension Dashboard {
    package static let operators = Dashboard(
        title: "entitled", uid: "entitled",
        rows: [now, arriving, applying, sending, answering, keeping, processes, cluster])

    private static func rate(_ metric: Metric, by labels: String) -> String {
        "sum by (\(labels)) (rate(\(metric.name)[$__rate_interval]))"
    }

    private static func quantile(_ share: Double, _ metric: Metric, by labels: String = "") -> String {
        let labels = labels.isEmpty ? "le" : "le, \(labels)"
        return "histogram_quantile(\(share), sum by (\(labels)) (rate(\(metric.name)_bucket[$__rate_interval])))"
    }

    private static func times(_ title: String, _ metric: Metric, _ meaning: String) -> Panel {
        .graph(
            title, unit: "s", meaning, (quantile(0.5, metric), "p50"), (quantile(0.95, metric), "p95"),
            (quantile(0.99, metric), "p99"))
    }

    private static let now = Row(
        title: "Now",
        panels: [
            .number(
                "Alarms firing", #"count(ALERTS{alertname=~"Entitled.*", alertstate="firing"}) or vector(0)"#,
                "Each has a section in the runbook.", limits: (1, 3)),
            .number(
                "Oldest pending", "max(\(Metric.pendingOldestSeconds.name))", unit: "s",
                "Age of the oldest notification that is not applied.", limits: (30, 300)),
            .number(
                "Lanes owned", "sum(\(Metric.lanesOwned.name))",
                "All workers together own 256; of fewer, notifications wait."),
            .number(
                "Held notifications", "sum(\(Metric.heldNow.name))", "They could not be applied, and are retried.",
                limits: (1, 100)),
            .number(
                "Deliveries past due", "sum(\(Metric.deliveriesPastDue.name))",
                "Webhooks that should have been sent.", limits: (100, 10_000)),
            .number(
                "Endpoints failing", "max(\(Metric.endpointsFailing.name))",
                "Endpoints without a success since several attempts.", limits: (1, 3)),
        ])

    private static let arriving = Row(
        title: "Notifications arrive",
        panels: [
            .graph(
                "Answers to Apple", unit: "ops", "By result; 503 is repeated by Apple.",
                (rate(.ingestAnswers, by: "answer"), "{{answer}}")),
            times("Time to commit", .ingestCommitSeconds, "From the verification to the durable row."),
            .graph(
                "Rejected although signed", unit: "ops",
                "Notifications of apps or environments that are not configured.",
                (rate(.ingestRefusedSigned, by: "bundle_id, environment, reason"), "{{bundle_id}} {{reason}}")),
            .graph(
                "History scanned", unit: "s",
                "Since Apple's history was last scanned to its end.",
                ("max by (app, environment) (\(Metric.reconcileAge.name))", "{{app}} {{environment}}")),
            .graph(
                "Missed notifications", unit: "ops", "Found in Apple's history alone.",
                (rate(.reconcileMissed, by: "app, environment"), "{{app}} {{environment}}")),
            .graph(
                "Requests to Apple", unit: "ops", "To the App Store Server API, by outcome.",
                (rate(.serverAPIRequests, by: "group, outcome"), "{{group}} {{outcome}}")),
        ])

    private static let applying = Row(
        title: "Records change",
        panels: [
            .graph(
                "Applied and held", unit: "ops", "Notifications that are no longer pending.",
                (rate(.notifications, by: "state"), "{{state}}")),
            times("Time of a transaction", .applySeconds, "Of a worker, for one batch."),
            .graph(
                "Waiting", unit: "s", "Age of the oldest pending notification, by worker.",
                ("\(Metric.pendingOldestSeconds.name)", "{{instance}}")),
            .graph(
                "Timers overdue", unit: "short", "Purchases whose end has not been looked at for five minutes.",
                ("sum(\(Metric.timersOverdue.name))", "overdue")),
            .graph(
                "Lanes in trouble", unit: "short", "Lanes in which applying failed, and takeovers from dead workers.",
                ("sum(\(Metric.lanesInTrouble.name))", "in trouble"),
                ("sum(increase(\(Metric.laneTakeovers.name)[$__rate_interval]))", "taken over")),
            .graph(
                "Refund questions", unit: "ops", "Answers to Apple's consumption requests, by outcome.",
                (rate(.refundAnswers, by: "app, outcome"), "{{app}} {{outcome}}")),
        ])

    private static let sending = Row(
        title: "Webhooks are sent",
        panels: [
            .graph(
                "Attempts", unit: "ops", "By outcome; 2xx is success.",
                (rate(.webhookAttempts, by: "outcome"), "{{outcome}}")),
            times("Time of a request", .clientRequestSeconds, "Until the consumer's answer, all endpoints."),
            .graph(
                "In line", unit: "short", "Deliveries past due, and requests in flight.",
                ("sum(\(Metric.deliveriesPastDue.name))", "past due"),
                ("sum(\(Metric.clientInFlight.name))", "in flight")),
        ])

    private static let answering = Row(
        title: "Apps and operators ask",
        panels: [
            .graph(
                "API answers", unit: "ops", "By status.", (rate(.apiAnswers, by: "status"), "{{status}}")),
            .graph(
                "Slowest routes", unit: "s", "The five with the greatest 99th percentile.",
                ("topk(5, \(quantile(0.99, .apiSeconds, by: "route")))", "{{route}}")),
            .graph(
                "Limited", unit: "ops", "Requests beyond a limit.", (rate(.apiLimited, by: "limit"), "{{limit}}")),
            .graph(
                "Reads of the standby", unit: "ops", "Who answered, where there is database.api_read_url.",
                (rate(.standbyReads, by: "result"), "{{result}}")),
            .graph(
                "Console and operator API", unit: "ops", "Answers by status; log-ins by outcome.",
                (rate(.operatorAnswers, by: "status"), "{{status}}"),
                (rate(.consoleLogins, by: "outcome"), "log-in {{outcome}}")),
            .graph(
                "Slowest pages", unit: "s", "The five pages of the console with the greatest 95th percentile.",
                ("topk(5, \(quantile(0.95, .consoleSeconds, by: "page")))", "{{page}}")),
        ])

    private static let keeping = Row(
        title: "Data grows",
        panels: [
            .graph(
                "Day partitions", unit: "bytes", "With their indexes, by table.",
                ("max by (table) (\(Metric.retentionBytes.name))", "{{table}}")),
            .graph(
                "Days ahead", unit: "short", "Partitions that are made already.",
                ("min by (table) (\(Metric.retentionDaysAhead.name))", "{{table}}")),
            .graph(
                "Rows cleaned", unit: "ops", "Beyond day partitions.",
                (rate(.retentionRowsCleaned, by: "table"), "{{table}}")),
        ])

    private static let processes = Row(
        title: "Processes",
        panels: [
            .graph(
                "Connections", unit: "short", "Open, by listener.",
                ("sum by (role) (\(Metric.connections.name))", "{{role}}")),
            .graph(
                "Refused and late", unit: "ops",
                "Connections turned away or cut, requests malformed or answered 503 in time.",
                (rate(.turnedAway, by: "role"), "turned away {{role}}"), (rate(.timeouts, by: "role"), "cut {{role}}"),
                (rate(.malformed, by: "role"), "malformed {{role}}"),
                (rate(.unanswered, by: "role"), "late {{role}}")),
            .graph(
                "Clock", unit: "s", "Difference from the database's clock.",
                ("\(Metric.clockDifference.name)", "{{instance}}")),
            .graph(
                "Versions and configurations", unit: "short", "How many different ones run; each should be 1.",
                ("count(count by (version, revision) (\(Metric.buildInfo.name)))", "versions"),
                ("count(count_values(\"value\", \(Metric.configurationHash.name)))", "configurations")),
        ])

    private static let cluster = Row(
        title: "Several servers",
        panels: [
            .graph(
                "Servers", unit: "short", "Servers of the cluster by state; none on one Postgres.",
                ("sum by (state) (max by (server, state) (\(Metric.clusterServers.name)))", "{{state}}")),
            .graph(
                "Shards", unit: "short", "Shards of lanes, by server.",
                ("max by (server) (\(Metric.clusterShards.name))", "{{server}}")),
            .graph(
                "Size", unit: "bytes", "The database on each server.",
                ("max by (server) (\(Metric.clusterBytes.name))", "{{server}}")),
            .graph(
                "Oldest prepared transaction", unit: "s", "Of each server; over a minute is too long.",
                ("max by (server) (\(Metric.clusterPreparedSeconds.name))", "{{server}}")),
            .graph(
                "For each notification", unit: "short",
                "Statements of all processes, and transactions that servers prepared, divided by the notifications that are applied.",
                (perNotification("sum(rate(\(Metric.databaseStatements.name)[$__rate_interval]))"), "statements"),
                (perNotification("max(rate(\(Metric.clusterPrepares.name)[$__rate_interval]))"), "prepared")),
        ])

    private static func perNotification(_ rate: String) -> String {
        "\(rate) / sum(rate(\(Metric.notifications.name)[$__rate_interval]))"
    }
}
