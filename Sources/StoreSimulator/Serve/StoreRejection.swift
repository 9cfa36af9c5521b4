import Base
import HTTP

/// An error of the App Store Server API, by Apple's code, whose first three digits are the status.
struct StoreRejection: Error, Equatable {
    let code: Int64

    init(_ code: Int64) {
        self.code = code
    }

    var response: HTTPResponse {
        .json(
            Int(code / 10000),
            .object(["errorCode": .int(code), "errorMessage": .string(StoreRejection.messages[code] ?? "Refused.")]))
    }

    private static let messages: [Int64: String] = [
        4_000_000: "Bad request.", 4_000_005: "Invalid request revision.", 4_000_006: "Invalid transaction id.",
        4_000_008: "Invalid original transaction id.", 4_000_009: "Invalid extend by days value.",
        4_000_010: "Invalid extend reason code.", 4_000_011: "Invalid request identifier.",
        4_000_012: "Start date is too far in the past.", 4_000_013: "Start date is after end date.",
        4_000_014: "Invalid pagination token.", 4_000_015: "Invalid start date.", 4_000_016: "Invalid end date.",
        4_000_018: "Invalid notification type.", 4_000_019: "Multiple filters supplied.", 4_000_021: "Invalid sort.",
        4_000_022: "Invalid product type.", 4_000_023: "Invalid product id.",
        4_000_026: "Invalid in-app ownership type.", 4_000_027: "Invalid empty storefront country code list.",
        4_000_030: "Invalid revoked.", 4_000_031: "Invalid status.", 4_000_035: "Invalid customer consented.",
        4_000_036: "Invalid delivery status.", 4_000_041: "Invalid sample content provided.",
        4_000_183: "Invalid app account token.", 4_000_185: "Family transactions are not supported.",
        4_000_187: "The transaction id is not an original transaction id.",
        4_030_004: "The subscription is not eligible for an extension.",
        4_030_005: "The subscription has reached the maximum number of extensions.",
        4_030_007: "Family-shared subscriptions are not eligible for an extension.",
        4_040_005: "Original transaction id not found.", 4_040_007: "Server notification URL not found.",
        4_040_008: "Test notification not found.", 4_040_009: "Status request not found.",
        4_040_010: "Transaction id not found.", 4_290_000: "Rate limit exceeded.",
        5_000_001: "An unknown error occurred. Please try again.",
    ]
}
