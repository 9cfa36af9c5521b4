import Base
import Crypto
import Foundation

/// A folder for each subject, with a file for each input that once crashed it or broke a promise.
package struct CorpusFolder: Sendable {
    private let path: String

    package init(_ path: String) {
        self.path = path
    }

    /// The corpus of this package.
    package static let standard = CorpusFolder(
        URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().appending(
            path: "FuzzTests/Corpus"
        ).path)

    /// The inputs of a subject, by the names of their files.
    package func inputs(of subject: String) -> [[UInt8]] {
        let folder = URL(filePath: path).appending(path: subject)
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.sorted().compactMap { name in
            (try? Data(contentsOf: folder.appending(path: name))).map(Array.init)
        }
    }

    /// Writes an input, named by its digest; the path of its file.
    package func save(_ input: [UInt8], of subject: String) throws -> String {
        let folder = URL(filePath: path).appending(path: subject)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: Hex.encode(Digest.sha256(input).prefix(8)))
        try Data(input).write(to: file)
        return file.path
    }
}
