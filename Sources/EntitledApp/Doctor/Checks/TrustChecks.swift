import Base
import CLI
import Crypto
import Daemon
import HTTP

/// Certificates: the roots that Apple's chains must end in, and our own.
enum TrustChecks {
    static let all = [
        Check("certificates.roots", within: .seconds(5)) { roots($0) },
        Check("certificates.own", within: .seconds(5)) { own($0) },
    ]

    private static let day: Int64 = 86_400_000
    /// 2039-04-30T18:19:06Z, as the certificate says.
    private static let appleRootEnd: Int64 = 2_187_800_346_000

    private static func roots(_ context: CheckContext) -> [Finding] {
        let trust = context.configuration.trust
        let now = context.clock.now()
        var findings = trust.rootSHA256.map { digest -> Finding in
            let name = Hex.encode(digest)
            guard name.uppercased() == Configuration.Trust.appleRoot else {
                return .warning(
                    "trust.root_sha256 \(name.prefix(16))… is not a known root of Apple",
                    "compare it with https://www.apple.com/certificateauthority/")
            }
            return ends("Apple Root CA - G3 \(name.prefix(16))…", appleRootEnd, now, soon: 365)
        }
        for der in trust.rootCertificates {
            guard let certificate = Certificate(der: der) else {
                findings.append(.error("a certificate of trust.root_files cannot be read", "provide it in PEM or DER"))
                continue
            }
            let name = "\(certificate.subject) \(Hex.encode(certificate.fingerprint).prefix(16))…"
            let validity = ends(name, certificate.notAfter, now, soon: 365)
            guard validity.status == .ok, hasProduction(context),
                Hex.encode(certificate.fingerprint).uppercased() != Configuration.Trust.appleRoot
            else {
                findings.append(validity)
                continue
            }
            findings.append(
                .warning(
                    "\(name) from trust.root_files is trusted in addition to Apple's roots",
                    "remove it from trust.root_files, unless this is a test: the holder of its key can sign purchases"))
        }
        return findings
    }

    private static func hasProduction(_ context: CheckContext) -> Bool {
        context.configuration.apps.contains { $0.environments.contains(.production) }
    }

    private static func own(_ context: CheckContext) -> [Finding] {
        guard let files = context.configuration.ingest.tls else {
            return [.ok("ingest speaks plain HTTP: TLS ends at a proxy in front of it")]
        }
        do throws(TLSFiles.Failure) {
            let identity = try files.identity(reading: context.surroundings.readFile)
            return [ends("the certificate in \(files.certificate)", identity.notAfter, context.clock.now(), soon: 14)]
        } catch {
            return [.error("\(error)", "set files with a certificate chain and its key, in PEM, readable by this user")]
        }
    }

    /// - Parameter soon: in days.
    private static func ends(_ name: String, _ end: Int64, _ now: Int64, soon: Int64) -> Finding {
        let date = Timestamp.text(end)
        if end <= now { return .error("\(name) ended \(date)", "replace it") }
        if end - now < soon * day {
            return .warning("\(name) ends \(date), in \(RelativeTime.text(end - now))", "replace it in time")
        }
        return .ok("\(name) is valid until \(date)")
    }
}
