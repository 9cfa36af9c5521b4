import Base
import Charts
import Customers

/// The charts that there are.
package enum ChartName: String, Sendable, CaseIterable {
    case active
    case activeMovement = "active-movement"
    case mrr
    case mrrMovement = "mrr-movement"
    case trials, retention, churn, revenue, refunds

    package var title: String {
        switch self {
        case .active: "Active subscriptions"
        case .activeMovement: "Active subscriptions, movement"
        case .mrr: "Monthly recurring revenue"
        case .mrrMovement: "Monthly recurring revenue, movement"
        case .trials: "Trials"
        case .retention: "Retention"
        case .churn: "Churn"
        case .revenue: "Revenue"
        case .refunds: "Refunds"
        }
    }

    /// A sentence, for lists.
    package var summary: String {
        switch self {
        case .active: "How many subscriptions gave access at the end of each part."
        case .activeMovement: "Why that number moved: who came, came back, and went for which reason."
        case .mrr: "What running subscriptions bring in a month, at the end of each part."
        case .mrrMovement: "Why that amount moved; the parts add up exactly."
        case .trials: "What became of the trials that began in each part."
        case .retention: "Of those who first paid in a month, how many pay so many months later."
        case .churn: "How many of the active subscriptions ended, and why."
        case .revenue: "What customers paid, and what went back, by the day of each."
        case .refunds: "What went back by the day of the refund, and which share of payments by their own day."
        }
    }

    /// Whether it is of money, and has a table for each currency.
    package var isMoney: Bool {
        switch self {
        case .mrr, .mrrMovement, .revenue, .refunds: true
        case .active, .activeMovement, .trials, .retention, .churn: false
        }
    }

    /// What every number is, in the words of reports where they have it.
    package var definitions: [ChartDefinition] {
        func report(_ names: String...) -> [ChartDefinition] {
            ReportDefinitions.all.filter { names.contains($0.name) }.map { ChartDefinition($0.name, $0.meaning) }
        }
        let general = [
            ChartDefinition(
                "in general",
                "Everything is by the dates that Apple signed, as known at the last refresh: what is heard late changes past"
                    + " numbers. What the family shares, and what was granted, is neither counted nor money."
                    + " `entitled report` counts the same.")
        ]
        let switched = ChartDefinition(
            "switched_in, switched_out",
            "Of a chart of one product, country or currency: subscriptions that came from another one, or went there, without"
                + " a break.")
        switch self {
        case .active: return report("access", "active", "in_billing_retry") + general
        case .activeMovement:
            return report("access", "new", "taken_over", "resubscribed", "recovered", "churned", "churned_…")
                + [switched] + general
        case .mrr:
            return report("mrr") + [ChartDefinition("arr", "12 times mrr.")] + general
        case .mrrMovement:
            let own: [ChartDefinition] = [
                ChartDefinition("new", "Of a subscription's first paid period, also after a trial."),
                ChartDefinition("taken_over", "The same of one that is older than what is known here."),
                ChartDefinition(
                    "back", "Paid again after a time without payment: grace, billing retry, or the end of access."),
                ChartDefinition(
                    "expansion, contraction",
                    "A paid period that follows another one without a break, and brings more or less in a month; a switch to"
                        + " another currency, or to what the filters leave out, is all of it."),
                ChartDefinition(
                    "churned",
                    "A paid period ended, and no other one follows without a break: grace brings nothing either."),
                ChartDefinition(
                    "at_end",
                    "at_start + new + taken_over + back + expansion - contraction - churned, exactly: what rounding to a"
                        + " thousandth leaves is in the largest of them."),
            ]
            return report("mrr") + own + general
        case .trials:
            let own: [ChartDefinition] = [
                ChartDefinition("started", "Trial periods that began in the part."),
                ChartDefinition("converted", "Those of them that a paid period followed so far."),
                ChartDefinition(
                    "ended", "Those that ended without one so far; Apple may still try to charge for some."),
                ChartDefinition("running", "Those that run: their outcome is open."),
                ChartDefinition("conversion", "converted ÷ started, in per cent."),
                ChartDefinition("conversions", "Paid periods right after a trial that began in the part."),
            ]
            return own + general
        case .retention:
            let own: [ChartDefinition] = [
                ChartDefinition("number", "Subscriptions whose first paid period began in the month."),
                ChartDefinition(
                    "month_0, month_1, …",
                    "How many of them are in a paid period at the end of that month, of the next one, and so on; of the month"
                        + " that runs, at the last refresh. Grace and billing retry do not pay."),
            ]
            return own + general
        case .churn:
            let own: [ChartDefinition] = [
                ChartDefinition("active_at_start", "Subscriptions that gave access just before the part."),
                ChartDefinition("rate", "churned ÷ active_at_start, in per cent."),
            ]
            return own + report("churned", "churned_…") + general
        case .revenue: return report("payments, gross", "refunds, refunded", "net", "no currency") + general
        case .refunds:
            let own: [ChartDefinition] = [
                ChartDefinition("payments", "Payments by their own day."),
                ChartDefinition("payments_refunded", "Those of them that were refunded so far, wholly or in part."),
                ChartDefinition(
                    "rate", "payments_refunded ÷ payments, in per cent: of days that are young it still grows."),
            ]
            return report("refunds, refunded", "no currency") + own + general
        }
    }
}

/// What a number of a chart is.
package struct ChartDefinition: Sendable, Equatable {
    package let name: String
    package let meaning: String

    init(_ name: String, _ meaning: String) { (self.name, self.meaning) = (name, meaning) }
}

/// A chart in a list.
package struct ChartSummary: DeskAnswer {
    package let name: ChartName

    package init(name: ChartName) { self.name = name }

    package var json: JSON {
        .object([
            "name": .string(name.rawValue), "title": .string(name.title), "summary": .string(name.summary),
        ])
    }
}
