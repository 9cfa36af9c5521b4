import Base

/// A Grafana dashboard over the metrics: `deploy/grafana/entitled.json` is written from it.
package struct Dashboard: Sendable {
    /// One graph, number or table.
    package struct Panel: Sendable {
        package enum Kind: String, Sendable {
            /// A number, as of now.
            case stat
            case graph = "timeseries"
        }

        package struct Query: Sendable {
            /// In PromQL.
            package let expression: String
            /// With Grafana's templates for labels.
            package let legend: String
        }

        package let title: String
        package let kind: Kind
        /// As Grafana names units: `s`, `bytes`, `ops`, `short`.
        package let unit: String
        /// A sentence, shown beside the title.
        package let meaning: String
        package let queries: [Query]
        /// Where a number turns orange and red; nil: it never does.
        package let limits: (warning: Double, alarm: Double)?
    }

    package struct Row: Sendable {
        package let title: String
        package let panels: [Panel]
    }

    package let title: String
    /// Of its address in Grafana, and of its file.
    package let uid: String
    package let rows: [Row]

    package static let all = [operators, business]

    /// Columns of Grafana's grid, and those of each kind of panel; heights in its units.
    private static let columns = 24

    // MARK: - As Grafana reads it

    package var document: JSON {
        var panels: [JSON] = []
        var top = 0
        for row in rows {
            panels.append(
                .object([
                    "type": .string("row"), "title": .string(row.title), "collapsed": .bool(false),
                    "id": .int(Int64(panels.count + 1)), "panels": .array([]),
                    "gridPos": Dashboard.place(0, top, width: Dashboard.columns, height: 1),
                ]))
            top += 1
            var (left, height) = (0, 0)
            for panel in row.panels {
                if left + panel.width > Dashboard.columns {
                    top += height
                    (left, height) = (0, 0)
                }
                panels.append(
                    panel.document(
                        id: panels.count + 1,
                        Dashboard.place(left, top, width: panel.width, height: panel.height)))
                left += panel.width
                height = max(height, panel.height)
            }
            top += height
        }
        return .object([
            "title": .string(title), "uid": .string(uid), "tags": .strings(["entitled"]),
            "schemaVersion": .int(38), "version": .int(1), "editable": .bool(true), "refresh": .string("30s"),
            "time": .object(["from": .string("now-6h"), "to": .string("now")]),
            "templating": .object([
                "list": .array([
                    .object([
                        "name": .string("datasource"), "label": .string("Prometheus"), "type": .string("datasource"),
                        "query": .string("prometheus"),
                    ])
                ])
            ]),
            "panels": .array(panels),
        ])
    }

    private static func place(_ left: Int, _ top: Int, width: Int, height: Int) -> JSON {
        .object([
            "x": .int(Int64(left)), "y": .int(Int64(top)), "w": .int(Int64(width)), "h": .int(Int64(height)),
        ])
    }
}

extension Dashboard.Panel {
    static func number(
        _ title: String, _ expression: String, unit: String = "short", _ meaning: String,
        limits: (warning: Double, alarm: Double)? = nil
    ) -> Self {
        Self(
            title: title, kind: .stat, unit: unit, meaning: meaning,
            queries: [Query(expression: expression, legend: title)], limits: limits)
    }

    static func graph(
        _ title: String, unit: String, _ meaning: String, _ queries: (expression: String, legend: String)...
    ) -> Self {
        Self(
            title: title, kind: .graph, unit: unit, meaning: meaning,
            queries: queries.map { Query(expression: $0.expression, legend: $0.legend) }, limits: nil)
    }

    fileprivate var width: Int { kind == .stat ? 4 : 8 }
    fileprivate var height: Int { kind == .stat ? 4 : 8 }

    fileprivate func document(id: Int, _ place: JSON) -> JSON {
        let source: JSON = .object(["type": .string("prometheus"), "uid": .string("${datasource}")])
        var defaults: [JSON.Member] = [
            JSON.Member(name: "unit", value: .string(unit)), JSON.Member(name: "min", value: .int(0)),
        ]
        if let limits {
            func step(_ colour: String, _ value: JSON) -> JSON { .object(["color": .string(colour), "value": value]) }
            defaults.append(
                JSON.Member(
                    name: "thresholds",
                    value: .object([
                        "mode": .string("absolute"),
                        "steps": .array([
                            step("green", .null), step("orange", .double(limits.warning)),
                            step("red", .double(limits.alarm)),
                        ]),
                    ])))
        }
        return .object([
            "id": .int(Int64(id)), "type": .string(kind.rawValue), "title": .string(title),
            "description": .string(meaning), "gridPos": place, "datasource": source,
            "fieldConfig": .object(["defaults": .object(defaults), "overrides": .array([])]),
            "targets": .array(
                queries.enumerated().map { number, query in
                    .object([
                        "refId": .string(String(UnicodeScalar(UInt8(65 + number)))), "datasource": source,
                        "expr": .string(query.expression), "legendFormat": .string(query.legend),
                        "range": .bool(true),
                    ])
                }),
        ])
    }
}
