import Base

extension Alarm {
    /// The file of Prometheus rules, `deploy/prometheus/entitled.rules.yml`: YAML, its texts quoted as in JSON.
    package static var rules: String {
        """
        # Alarms of entitled for Prometheus. Written from Sources/Daemon/Metrics/AlarmTable.swift by
        # `UPDATE_GENERATED=1 swift test --filter AlarmTests`; the same test fails where they differ.
        #
        # The jobs that scrape entitled have names that begin with "entitled". severity is page (customers, revenue or
        # webhooks are affected now) or ticket (office hours). runbook is a section of
        # Sources/EntitledApp/EntitledApp.docc/Runbook.md.
        groups:
          - name: entitled
            rules:

        """ + all.map(\.rule).joined(separator: "\n")
    }

    private var rule: String {
        func quoted(_ text: String) -> String { JSON.string(text).text }
        let hold = hold.map { "        for: \($0)\n" } ?? ""
        return """
                  - alert: \(name)
                    expr: \(quoted(condition))
            \(hold)        labels:
                      severity: \(severity.rawValue)
                    annotations:
                      summary: \(quoted(summary))
                      runbook: \(quoted(runbook))

            """
    }
}
