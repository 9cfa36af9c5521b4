/// The version of this program, as `entitled version`, the user agent and the metrics say it.
package enum Version {
    package static let current = "0.2.0"
}
