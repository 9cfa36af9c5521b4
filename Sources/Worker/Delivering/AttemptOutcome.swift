import HTTP

/// What came of an attempt.
package enum AttemptOutcome: Hashable, Sendable {
    /// 2xx.
    case delivered
    /// 410: the consumer wants no more.
    case gone
    /// Another response.
    case status(StatusClass)
    /// No response, or not a whole one.
    case failed(TransferFailure.Kind)

    package enum StatusClass: String, Sendable {
        /// A redirect, which is not followed.
        case redirect = "status_3xx"
        case clientError = "status_4xx"
        case serverError = "status_5xx"
        /// None of these: an interim status that was final, or none that HTTP knows.
        case other = "status_other"
    }

    package init(_ outcome: TransferOutcome) {
        switch outcome {
        case .response(let response):
            switch response.status {
            case 200..<300: self = .delivered
            case 410: self = .gone
            case 300..<400: self = .status(.redirect)
            case 400..<500: self = .status(.clientError)
            case 500..<600: self = .status(.serverError)
            default: self = .status(.other)
            }
        case .failure(let failure): self = .failed(failure.kind)
        }
    }

    /// Every code that there is.
    static let codes =
        (["delivered", "gone"] + [StatusClass.redirect, .clientError, .serverError, .other].map(\.rawValue)
            + TransferFailure.Kind.allCases.map(\.rawValue))

    /// As the log of attempts and the metric name it.
    package var code: String {
        switch self {
        case .delivered: "delivered"
        case .gone: "gone"
        case .status(let status): status.rawValue
        case .failed(let kind): kind.rawValue
        }
    }
}

extension TransferOutcome {
    /// Of a whole response.
    var status: Int? {
        if case .response(let response) = self { response.status } else { nil }
    }
}
