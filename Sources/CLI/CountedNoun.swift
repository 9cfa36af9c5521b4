extension Int {
    /// `1 webhook`, `2 webhooks`.
    ///
    /// - Parameter noun: in the singular; its plural ends with an s.
    package func counted(_ noun: String) -> String { "\(self) \(noun)\(self == 1 ? "" : "s")" }
}
