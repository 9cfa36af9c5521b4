/// A self-signed certificate, its key, and a key of another one, made for these tests and used nowhere.
enum TLSFixture {
    static let certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBnDCCAUOgAwIBAgIUDRyQcMET5A2ao8+ZWxpw5c6JqEIwCgYIKoZIzj0EAwIw
        JDEiMCAGA1UEAwwZbm90aWZpY2F0aW9ucy5leGFtcGxlLmNvbTAeFw0yNjExMjEx
        NTQ4MThaFw0zNjExMTgxNTQ4MThaMCQxIjAgBgNVBAMMGW5vdGlmaWNhdGlvbnMu
        ZXhhbXBsZS5jb20wWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATSXPHrsu+dRbdy
        xOfdLRbuCZCSbD7haHp96i8gfjorqabAl5X5mwxGdWEk2us726mdZTpcU8826yZg
        n8IcdzHjo1MwUTAdBgNVHQ4EFgQUegMlbhohhDJG8O3YQTvIHrp4U2kwHwYDVR0j
        BBgwFoAUegMlbhohhDJG8O3YQTvIHrp4U2kwDwYDVR0TAQH/BAUwAwEB/zAKBggq
        hkjOPQQDAgNHADBEAiAwYlqQtky5RrOJmL6cGQCHBGPOpnagHht/nktVHwyJzQIg
        Yf0GmAclpayag20wnwqP2WZp2J4S3GGoo3GbE9S25/M=
        -----END CERTIFICATE-----
        """

    static let key = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgu6o/hKoJ9Hf3NU6E
        qN1cbpugrlz1X/XeY3xYmu/5cbihRANCAATSXPHrsu+dRbdyxOfdLRbuCZCSbD7h
        aHp96i8gfjorqabAl5X5mwxGdWEk2us726mdZTpcU8826yZgn8IcdzHj
        -----END PRIVATE KEY-----
        """

    static let otherKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgXJFS7LEJfBSIb5W+
        jqJWFkn7zq1dN7DEn0f3gyfVy/ahRANCAAR0gjDJ51G+9Q8CObOPZjFjtvEMO0Hh
        p2sASOlKpnZ6qakgQ3yebOiFJKiy9A+cL5Sa602xwJMGUkrXkaqE0+D8
        -----END PRIVATE KEY-----
        """
}
