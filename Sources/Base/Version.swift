/// The release of this program (`Changelog.md` of the manual), as `entitled version`, the user agent and the metrics say it.
package enum Version {
    package static let current = "0.3.0"
}
