import Base
import Crypto

/// The certificates of the chain that fuzzing signs with, the same in every process: an input that was saved is read again
/// as what it was. The keys of the two authorities were thrown away; they are trusted nowhere else.
enum FuzzCertificates {
    /// DER: leaf, intermediate, root.
    static let all = [leaf, intermediate, root].map { Base64.decode($0.replacing("\n", with: "").utf8) ?? [] }

    /// The leaf's key follows from a text, as SEC 1 (RFC 5915) in DER.
    static let key =
        [0x30, 0x31, 0x02, 0x01, 0x01, 0x04, 0x20] + Digest.sha256(Array("a key that signs inputs for fuzzing".utf8))
        + [0xa0, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07]

    private static let leaf = """
        MIICCzCCAZCgAwIBAgIQW3G1eU+LQo66ZZ49x1h3bzAKBggqhkjOPQQDAzA+MRcwFQYDVQQDDA5GdXp6IEF1dGhvcml0eTEWMBQGA1UECgwN
        RXhhbXBsZSBTdG9yZTELMAkGA1UEBhMCVVMwHhcNMjQwMTAyMDAwMDAwWhcNMjYwMTAxMDAwMDAwWjA8MRUwEwYDVQQDDAxGdXp6IFNpZ25p
        bmcxFjAUBgNVBAoMDUV4YW1wbGUgU3RvcmUxCzAJBgNVBAYTAlVTMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEud8awoZ8oulm0C3lzKBU
        jDInMPWinbocNiK/ZrobcBmuAfOawTyu502GCvcYdF0vIUGZEoFTZcmV1iFZMgZ9G6NyMHAwDAYDVR0TAQH/BAIwADAOBgNVHQ8BAf8EBAMC
        B4AwHQYDVR0OBBYEFNIwDlkp5BybuiY/kaCUyImjVyP3MB8GA1UdIwQYMBaAFG2P7I6RCsdCOiskXSW6uD3EYzXmMBAGCiqGSIb3Y2QGCwEE
        AgUAMAoGCCqGSM49BAMDA2kAMGYCMQDOCzm504iN2PfUq/J9iM9vsJtBkkZ29ug95VYgaW7fz31SxUnsIev6NvcjbkR2W8oCMQDdhI270kBa
        8mph/WQUTQ5tBI/5B3W/wq1CLz2ZmodK1CM0wJzndwouJczNpa/v8Ok=
        """

    private static let intermediate = """
        MIICKTCCAbCgAwIBAgIQXACbSOV+gPZqGW7K2KR3JTAKBggqhkjOPQQDAzA5MRIwEAYDVQQDDAlGdXp6IFJvb3QxFjAUBgNVBAoMDUV4YW1w
        bGUgU3RvcmUxCzAJBgNVBAYTAlVTMB4XDTI0MDEwMjAwMDAwMFoXDTI2MDEwMTAwMDAwMFowPjEXMBUGA1UEAwwORnV6eiBBdXRob3JpdHkx
        FjAUBgNVBAoMDUV4YW1wbGUgU3RvcmUxCzAJBgNVBAYTAlVTMHYwEAYHKoZIzj0CAQYFK4EEACIDYgAE/udNeO3xVKztySN+m1K6HQE3qKmR
        pWAfq08x2YAsZmU72sPxeRsi0HKpWV+bUtaidsYGwLXXEdfPlVynB0TgPHsxfAL0NesLLIQ1CE8j57VUuYo4NbXJeXZ2rmTU3/9Wo3gwdjAS
        BgNVHRMBAf8ECDAGAQH/AgEAMA4GA1UdDwEB/wQEAwIBBjAdBgNVHQ4EFgQUbY/sjpEKx0I6KyRdJbq4PcRjNeYwHwYDVR0jBBgwFoAUYlKp
        aEKo/7dyai3J1SfwtAFsPRMwEAYKKoZIhvdjZAYCAQQCBQAwCgYIKoZIzj0EAwMDZwAwZAIwZDP8ERKBFSFCEQlLQvBujHLjLw9Lk0aYKH3M
        64nBaXd6L9Rl4HZncn6isdeMAkEEAjAe60ADk7v/f9E2hAY85oeMnxA+bDOelO7l+bv3DVNaoDnVvZiYZUkS1hZghgUAebw=
        """

    private static let root = """
        MIICEDCCAZagAwIBAgIQG0iyIvEXSdlGE4TKFdQeUTAKBggqhkjOPQQDAzA5MRIwEAYDVQQDDAlGdXp6IFJvb3QxFjAUBgNVBAoMDUV4YW1w
        bGUgU3RvcmUxCzAJBgNVBAYTAlVTMB4XDTI0MDEwMjAwMDAwMFoXDTI2MDEwMTAwMDAwMFowOTESMBAGA1UEAwwJRnV6eiBSb290MRYwFAYD
        VQQKDA1FeGFtcGxlIFN0b3JlMQswCQYDVQQGEwJVUzB2MBAGByqGSM49AgEGBSuBBAAiA2IABFCybaC+paq0m2lbQY6IC2613PmTyoetKlau
        meOyezlcMosoBgkx5EJ+CRsnmyq/7M6aiGJOXhUdWRIAZlpQ1NB59JOJhJAXmV9DgYj8jHl3UwCYpUpGJd3dDgTKinA0MqNjMGEwDwYDVR0T
        AQH/BAUwAwEB/zAOBgNVHQ8BAf8EBAMCAQYwHQYDVR0OBBYEFGJSqWhCqP+3cmotydUn8LQBbD0TMB8GA1UdIwQYMBaAFGJSqWhCqP+3cmot
        ydUn8LQBbD0TMAoGCCqGSM49BAMDA2gAMGUCMQCdHl7EnOoEqnKpnzRAPuoyaXvVA6hrgOcraPpEfc/AFOY9NP+GDSNjFOXA65A3tgsCMHJ8
        F+I3OPSf2sE9weCM8Ff4HR7JajJi5nvv85LGRcR67CQZTCsWb/M67ojdFR/Wtg==
        """
}
