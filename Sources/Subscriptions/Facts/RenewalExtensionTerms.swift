/// What a seller can ask Apple for when it extends a renewal date, in the words of the command line and of the operator API.
package enum RenewalExtensionTerms {
    /// Days.
    package static let longest: Int64 = 90
    package static let undeclared = "undeclared"
    /// Why: Apple's codes in their order.
    package static let reasons = [undeclared, "satisfaction", "other", "outage"]
}
