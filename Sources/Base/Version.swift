/// The release of this program (`CHANGELOG.md`), as `entitled version`, the user agent and the metrics say it.
package enum Version {
    package static let current = "0.3.0"
}
