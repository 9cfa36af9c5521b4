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

/// A certificate with a key on P-256 that signed itself.
enum Certificates {
    private static let text = """
        MIIBdTCCARugAwIBAgIUO+OKzhc2KNdrZupU85DnbCs9FR8wCgYIKoZIzj0EAwIwDzENMAsGA1UEAwwEVGVzdDAgFw0yNjEx
        MjUxOTEyMzdaGA8yMTI2MTEwMTE5MTIzN1owDzENMAsGA1UEAwwEVGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABLt0
        ANWgJ1iy7OVot6JlyT1OgJf7uKWrZF4OuIm0PnQKJsvVQCd5cb9fLyaua1OQV7CjnRUKNO2H2VxXxdbQpUijUzBRMB0GA1Ud
        DgQWBBTwN7ymt6uc2azQjPXstBaFAvqeHjAfBgNVHSMEGDAWgBTwN7ymt6uc2azQjPXstBaFAvqeHjAPBgNVHRMBAf8EBTAD
        AQH/MAoGCCqGSM49BAMCA0gAMEUCIQDt6aiDb4kKkUtbOCtRp13lOaqQ6CFEbyi1YYFDFz2/pgIgJEtxyrV/+DT4KcXUhvFM
        3qE9kEZc5AhsfeONir1Fj0s=
        """

    static let der = Base64.decode(text.utf8.filter { $0 != UInt8(ascii: "\n") }) ?? []

    static let pem = "-----BEGIN CERTIFICATE-----\n\(text)\n-----END CERTIFICATE-----\n"
}
