import Base
import Daemon
import EntitledApp
import Testing

/// Parses configurations in surroundings that a test makes up.
struct ConfigurationFixture {
    var environment: [String: String] = [:]
    var files: [String: FileReading] = [:]
    var workingDirectory = "/srv"
    var isSuperuser = false

    var surroundings: ConfigurationContext {
        let files = files
        return ConfigurationContext(
            environment: environment, workingDirectory: workingDirectory, isSuperuser: isSuperuser
        ) { path in
            files[path] ?? .missing
        }
    }

    mutating func file(_ path: String, _ text: String) {
        files[path] = .contents(Array(text.utf8))
    }

    func parse(_ json5: String = "{}") throws -> Configuration {
        try Configuration.parse(try JSON(parsing: Array(json5.utf8), json5: true), surroundings)
    }

    /// What is wrong; empty if nothing is.
    func mistakes(_ json5: String = "{}") throws -> [ConfigurationMistake] {
        do {
            _ = try parse(json5)
            return []
        } catch let mistakes as ConfigurationMistakes {
            return mistakes.all
        }
    }

    func keys(_ json5: String = "{}") throws -> [String] {
        try mistakes(json5).map(\.key)
    }
}

/// The outer form of a certificate: two sequences and a bit string in a sequence.
enum Certificates {
    static let der: [UInt8] = [0x30, 0x08, 0x30, 0x00, 0x30, 0x00, 0x03, 0x02, 0x00, 0x01]

    static let pem =
        "-----BEGIN CERTIFICATE-----\n\(Base64.encode(der))\n-----END CERTIFICATE-----\n"
}
