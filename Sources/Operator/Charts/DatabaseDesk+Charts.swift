import Base
import Charts
import Customers
import Database
import Postgres

/// How charts come to their numbers.
package struct ChartSettings: Sendable {
    /// In which days, weeks and months begin.
    package var zone: LocalZone
    package var zoneName: TimeZoneName
    /// Nil: they are counted on the connection of the question, however long that takes.
    package var reader: ChartReader?

    package init(zone: LocalZone = .utc, zoneName: TimeZoneName = .utc, reader: ChartReader? = nil) {
        (self.zone, self.zoneName, self.reader) = (zone, zoneName, reader)
    }
}

extension DatabaseDesk {
    package func charts() throws -> DeskList<ChartSummary> {
        try viewer.check(.charts)
        return DeskList(ChartName.allCases.map(ChartSummary.init))
    }

    package func chart(_ name: String, _ question: ChartQuestion) throws -> ChartAnswer {
        try viewer.check(.charts)
        guard let name = ChartName(rawValue: name) else {
            throw DeskError.notFound(
                "There is no chart \(name); there are: \(ChartName.allCases.map(\.rawValue).joined(separator: ", ")).")
        }
        guard let freshness = try ReportFreshness.read(on: connection) else {
            throw DeskError(
                404, "not_computed",
                "There are no charts: `reports.refresh` is off in the configuration of the workers, or the first"
                    + " refresh has not finished. `entitled report` counts without it."
            )
        }
        let settings = settings.charts
        let scope = try question.scope(of: name, freshness, in: settings.zone)
        let reading: ChartReading
        if let reader = settings.reader {
            reading = try reader.reading(scope)
        } else if let read = try ChartReading.read(scope, on: connection) {
            reading = read
        } else {
            throw ChartReader.incomplete
        }
        return ChartAnswer(
            name: name, scope: scope, zone: settings.zoneName.text,
            chart: ChartTable(name, scope, reading.tally, in: settings.zone).chart, products: reading.products,
            currencies: reading.currencies, countries: reading.countries)
    }
}
