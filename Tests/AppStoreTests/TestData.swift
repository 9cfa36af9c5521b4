import Foundation

/// Real data beside the package, where it is there: never part of the repository.
enum TestData {
    static let folder = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "shared/data")

    static let isPresent = FileManager.default.fileExists(atPath: folder.appending(path: "apple-signed").path)

    static func bytes(_ path: String) -> [UInt8] {
        (try? Data(contentsOf: folder.appending(path: path))).map(Array.init) ?? []
    }

    /// Names of the files of a folder, sorted.
    static func names(_ path: String, suffix: String) -> [String] {
        let all = (try? FileManager.default.contentsOfDirectory(atPath: folder.appending(path: path).path)) ?? []
        return all.filter { $0.hasSuffix(suffix) }.sorted()
    }
}
