import Base

/// Series in which an alarm fires, and others in which it does not, in promtool's notation: a value each step, `_` for none,
/// `1x20` for 21 times the same, `0+2x20` for a growing one.
struct AlarmCase {
    /// Series and their values.
    typealias Series = KeyValuePairs<String, String>

    let alarm: String
    /// In each of them it fires `minutes` after the beginning, and has been evaluated each `step` minutes.
    let fires: [Series]
    let silent: [Series]
    let minutes: Int
    let step: Int

    private init(_ alarm: String, fires: [Series], silent: [Series], at minutes: Int = 30, each step: Int = 1) {
        (self.alarm, self.fires, self.silent, self.minutes, self.step) = (alarm, fires, silent, minutes, step)
    }

    /// Tests as promtool takes them.
    var tests: [JSON] {
        fires.map { test($0, isFiring: true) } + silent.map { test($0, isFiring: false) }
    }

    private func test(_ series: Series, isFiring: Bool) -> JSON {
        let state = #"ALERTS{alertname="\#(alarm)",alertstate="firing"}"#
        let sample = JSON.object(["labels": .string("{}"), "value": .int(1)])
        return .object([
            "interval": .string("\(step)m"), "name": .string("\(alarm) \(isFiring ? "fires" : "is silent")"),
            "input_series": .array(
                series.map { .object(["series": .string($0.key), "values": .string($0.value)]) }),
            "promql_expr_test": .array([
                .object([
                    "expr": .string("sum(\(state))"), "eval_time": .string("\(minutes)m"),
                    "exp_samples": .array(isFiring ? [sample] : []),
                ])
            ]),
        ])
    }

    /// A gauge above its limit all the time, and below it.
    private static func gauge(_ alarm: String, _ series: String, _ bad: Int, _ good: Int, at minutes: Int = 30)
        -> AlarmCase
    {
        AlarmCase(
            alarm, fires: [[series: "\(bad)x400"]], silent: [[series: "\(good)x400"], [:]], at: minutes)
    }

    /// A counter that grows: by its first count, by another one, and after its process restarted. It is silent when nothing
    /// was counted in the time, and after a restart that counts nothing.
    private static func counter(_ alarm: String, _ series: String, within minutes: Int) -> AlarmCase {
        let step = minutes > 100 ? 10 : 1
        let before = minutes / step + 20
        return AlarmCase(
            alarm,
            fires: [
                [series: "_x\(before) 1x10"], [series: "3x\(before) 4x10"],
                [series: "3x\(before) _x1 1x10"],
            ],
            silent: [
                [series: "3x\(before)"], [series: "0x\(before)"], [:],
                // What was counted longer ago.
                [series: "0x5 3x\(before)"],
            ], at: (before + 5) * step, each: step)
    }

    /// A counter that grows all the time.
    private static func rate(_ alarm: String, _ series: String) -> AlarmCase {
        AlarmCase(alarm, fires: [[series: "0+1x60"]], silent: [[series: "7x60"], [:]])
    }

    /// A histogram with nearly all values beyond the limit, and with all below half a second.
    private static func slow(_ alarm: String, _ name: String, limit: String) -> AlarmCase {
        AlarmCase(
            alarm,
            fires: [
                [
                    #"\#(name)_bucket{le="\#(limit)"}"#: "0+1x60", #"\#(name)_bucket{le="60"}"#: "0+100x60",
                    #"\#(name)_bucket{le="+Inf"}"#: "0+100x60",
                ]
            ],
            silent: [
                [
                    #"\#(name)_bucket{le="0.5"}"#: "0+100x60", #"\#(name)_bucket{le="60"}"#: "0+100x60",
                    #"\#(name)_bucket{le="+Inf"}"#: "0+100x60",
                ], [:],
            ])
    }

    static let all: [AlarmCase] = processes + arriving + applying + sending + asking + keeping + answering

    private static let processes = [
        AlarmCase(
            "EntitledAbsent", fires: [[:]], silent: [[#"entitled_build_info{version="1",revision="a"}"#: "1x60"]]),
        AlarmCase(
            "EntitledProcessDown",
            fires: [
                [#"up{job="entitled-worker",instance="a"}"#: "1x20 0x20", #"up{job="entitled",instance="b"}"#: "1x60"]
            ],
            silent: [[#"up{job="entitled-worker",instance="a"}"#: "1x60"], [#"up{job="other",instance="a"}"#: "0x60"]]),
        AlarmCase(
            "EntitledVersionsDiffer",
            fires: [
                [
                    #"entitled_build_info{version="1",revision="a",instance="a"}"#: "1x500",
                    #"entitled_build_info{version="1",revision="b",instance="b"}"#: "1x500",
                ]
            ],
            silent: [
                [
                    #"entitled_build_info{version="1",revision="a",instance="a"}"#: "1x500",
                    #"entitled_build_info{version="1",revision="a",instance="b"}"#: "1x500",
                ]
            ], at: 400),
        AlarmCase(
            "EntitledConfigurationsDiffer",
            fires: [
                [
                    #"entitled_configuration_hash{instance="a"}"#: "234567890123x500",
                    #"entitled_configuration_hash{instance="b"}"#: "234567890124x500",
                ]
            ],
            silent: [
                [
                    #"entitled_configuration_hash{instance="a"}"#: "234567890123x500",
                    #"entitled_configuration_hash{instance="b"}"#: "234567890123x500",
                ]
            ], at: 400),
        AlarmCase(
            "EntitledConfigurationReloadFailed",
            fires: [[#"entitled_configuration_reload_failed{instance="a"}"#: "1x60"]],
            silent: [[#"entitled_configuration_reload_failed{instance="a"}"#: "0x60"]]),
        AlarmCase(
            "EntitledClockWrong",
            fires: [
                [#"entitled_clock_difference_seconds{instance="a"}"#: "-61x60"],
                [#"entitled_clock_difference_seconds{instance="a"}"#: "61x60"],
            ],
            silent: [[#"entitled_clock_difference_seconds{instance="a"}"#: "-3x60"]]),
        rate("EntitledConnectionsTurnedAway", #"entitled_http_turned_away_total{role="ingest",instance="a"}"#),
        // Time is 1800 s since 1970 at 30 minutes.
        gauge(
            "EntitledTLSCertificateEnds", #"entitled_tls_certificate_not_after_seconds{role="ingest"}"#, 500_000,
            700_000),
        counter(
            "EntitledPrivateDatabaseEnded", #"entitled_private_database_restarts_total{instance="a"}"#, within: 60),
        counter("EntitledDatabaseReturned", #"entitled_database_returns_total{reason="number"}"#, within: 60),
        gauge("EntitledDatabaseReturnPending", "entitled_database_return_pending", 1, 0, at: 40),
        AlarmCase(
            "EntitledClusterServerAway",
            fires: [
                [
                    #"entitled_cluster_servers{server="a:5432",state="away",instance="a"}"#: "1x60",
                    #"entitled_cluster_servers{server="a:5432",state="up",instance="a"}"#: "0x60",
                ]
            ],
            silent: [
                [
                    #"entitled_cluster_servers{server="a:5432",state="away",instance="a"}"#: "0x60",
                    #"entitled_cluster_servers{server="a:5432",state="up",instance="a"}"#: "1x60",
                    #"entitled_cluster_servers{server="b:5432",state="disabled",instance="a"}"#: "1x60",
                ],
                // It was away for a minute.
                [#"entitled_cluster_servers{server="a:5432",state="away"}"#: "0x28 1 0x30"], [:],
            ]),
        gauge(
            "EntitledPreparedTransactionsLeft", #"entitled_cluster_prepared_oldest_seconds{server="a:5432"}"#, 301, 300),
    ]

    private static let arriving = [
        AlarmCase(
            "EntitledIngestUnavailable",
            fires: [
                [#"entitled_ingest_answers_total{answer="503"}"#: "0+1x60"],
                [#"entitled_ingest_answers_total{answer="unavailable"}"#: "_x15 1+1x60"],
            ],
            silent: [[#"entitled_ingest_answers_total{answer="accepted"}"#: "0+9x60"], [:]]),
        slow("EntitledIngestSlow", "entitled_ingest_commit_seconds", limit: "1"),
        counter(
            "EntitledSignedNotificationRejected",
            #"entitled_ingest_refused_signed_total{bundle_id="b",environment="Sandbox",reason="unknown_app"}"#,
            within: 60),
        gauge("EntitledSigningCertificateRevoked", #"entitled_ocsp_status{status="revoked"}"#, 1, 0),
        AlarmCase(
            "EntitledOutage", fires: [["entitled_outages": "1x30 2x60"]], silent: [["entitled_outages": "2x90"], [:]],
            at: 60),
    ]

    private static let applying = [
        AlarmCase(
            "EntitledLanesUnowned",
            fires: [
                [#"entitled_lanes_owned{instance="a"}"#: "128x60", #"entitled_lanes_owned{instance="b"}"#: "127x60"],
                // No worker at all.
                [:],
            ],
            silent: [
                [#"entitled_lanes_owned{instance="a"}"#: "128x60", #"entitled_lanes_owned{instance="b"}"#: "128x60"]
            ]),
        AlarmCase(
            "EntitledLanesFailing", fires: [["entitled_lanes_in_trouble": "1x60"]],
            silent: [["entitled_lanes_in_trouble": "0x27 1x20"], ["entitled_lanes_in_trouble": "0x60"]]),
        gauge("EntitledNotificationsPending", "entitled_pending_oldest_seconds", 61, 59),
        gauge("EntitledNotificationsDiverted", "entitled_diverted_oldest_seconds", 901, 899),
        gauge("EntitledNotificationsHeld", "entitled_held_notifications", 1, 0),
        counter("EntitledHeldRetriesFail", #"entitled_held_retries_total{outcome="held"}"#, within: 1440),
        slow("EntitledApplySlow", "entitled_apply_seconds", limit: "2.5"),
        gauge("EntitledTimersOverdue", "entitled_timers_overdue", 1, 0),
        counter("EntitledLaneTakeovers", "entitled_lane_takeovers_total", within: 15),
        counter("EntitledFencesLost", #"entitled_fences_lost_total{instance="a"}"#, within: 15),
        counter("EntitledFoldsMended", #"entitled_folds_mended_total{instance="a"}"#, within: 60),
    ]

    private static let sending = [
        gauge("EntitledDeliveriesPastDue", "entitled_deliveries_past_due", 101, 100),
        gauge("EntitledDeliveriesBlocked", "entitled_deliveries_blocked_oldest_seconds", 3601, 3600),
        AlarmCase(
            "EntitledAttemptsFail",
            fires: [
                [
                    #"entitled_webhook_attempts_total{outcome="delivered"}"#: "0+8x60",
                    #"entitled_webhook_attempts_total{outcome="timeout"}"#: "0+2x60",
                ]
            ],
            silent: [
                [
                    #"entitled_webhook_attempts_total{outcome="delivered"}"#: "0+98x60",
                    #"entitled_webhook_attempts_total{outcome="timeout"}"#: "0+2x60",
                ],
                // No attempts.
                [#"entitled_webhook_attempts_total{outcome="timeout"}"#: "5x60"],
            ], at: 45),
        gauge("EntitledEndpointFailing", "entitled_endpoints_failing", 1, 0),
        counter("EntitledEndpointDisabled", #"entitled_endpoint_notices_total{type="endpoint.disabled"}"#, within: 60),
        gauge("EntitledEndpointUnreadable", "entitled_endpoints_unreadable", 1, 0),
    ]

    private static let asking = [
        counter(
            "EntitledServerAPIUnauthorized",
            #"entitled_server_api_requests_total{group="history",outcome="unauthorized"}"#, within: 15),
        counter(
            "EntitledNotificationsMissed", #"entitled_reconcile_missed_total{app="a",environment="Production"}"#,
            within: 60),
        gauge(
            "EntitledHistoryBehind", #"entitled_reconcile_age_seconds{app="a",environment="Sandbox"}"#, 14_401, 14_400),
        counter(
            "EntitledHistoryRejected",
            #"entitled_reconcile_refused_total{app="a",environment="Production",reason="unknown_app"}"#, within: 1440),
        gauge(
            "EntitledStatusPollsBehind", #"entitled_status_looks_due{app="a",environment="Production"}"#, 501, 500,
            at: 390),
        gauge("EntitledAccountLooksDue", #"entitled_account_looks_due{app="a",environment="Production"}"#, 1, 0),
        counter("EntitledRefundAnswerDue", #"entitled_consumption_requests_closing_total{app="a"}"#, within: 60),
        counter("EntitledRefundAnswersFail", #"entitled_refund_answers_total{app="a",outcome="failed"}"#, within: 1440),
    ]

    private static let keeping = [
        AlarmCase(
            "EntitledDutyFailing",
            fires: [
                [#"entitled_duty_runs_total{duty="jobs",instance="a",outcome="failed"}"#: "0+1x90"],
                [
                    #"entitled_duty_runs_total{duty="jobs",instance="a",outcome="failed"}"#: "0+1x90",
                    #"entitled_duty_runs_total{duty="jobs",instance="b",outcome="done"}"#: "0+1x90",
                ],
            ],
            silent: [
                [
                    #"entitled_duty_runs_total{duty="jobs",instance="a",outcome="failed"}"#: "0+1x90",
                    #"entitled_duty_runs_total{duty="jobs",instance="a",outcome="done"}"#: "0+1x90",
                ],
                [#"entitled_duty_runs_total{duty="jobs",instance="a",outcome="lost"}"#: "0+1x90"], [:],
            ], at: 80),
        AlarmCase(
            "EntitledPartitionsMissing", fires: [[#"entitled_retention_days_ahead{table="attempt"}"#: "0x400"]],
            silent: [[#"entitled_retention_days_ahead{table="attempt"}"#: "1x400"], [:]], at: 90),
        gauge("EntitledRowsWithoutPartition", #"entitled_retention_stray_rows{table="attempt"}"#, 1, 0),
        gauge("EntitledRetentionLate", #"entitled_retention_kept{reason="held",table="notification"}"#, 1, 0, at: 390),
    ]

    private static let answering = [
        AlarmCase(
            "EntitledAPIErrors", fires: [[#"entitled_api_answers_total{route="/v1/receipts",status="503"}"#: "0+1x60"]],
            silent: [[#"entitled_api_answers_total{route="/v1/receipts",status="200"}"#: "0+1x60"], [:]]),
        slow("EntitledAPISlow", "entitled_api_seconds", limit: "2.5"),
        AlarmCase(
            "EntitledPublicKeyLimited",
            fires: [[#"entitled_api_limited_total{limit="public_key",route="/v1/receipts"}"#: "0+1x60"]],
            silent: [[#"entitled_api_limited_total{limit="address",route="/v1/receipts"}"#: "0+1x60"], [:]]),
    ]
}
