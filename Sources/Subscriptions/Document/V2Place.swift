import Base

/// Whom objects of REST v2 are about, as the caller named the project and the customer: their lists' `url` says it.
package struct V2Place: Sendable {
    package let project: String
    package let customer: String

    package init(project: String, customer: String) {
        (self.project, self.customer) = (project, customer)
    }

    package static func url(ofProject project: String) -> String {
        "/v2/projects/\(PercentEncoding.encode(project))"
    }

    package var url: String { "\(V2Place.url(ofProject: project))/customers/\(PercentEncoding.encode(customer))" }
}
