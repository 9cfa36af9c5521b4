import HTTP

/// The header fields of every answer below `/console`.
enum PageHeaders {
    private static let policy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "form-action 'self'",
        "base-uri 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types entitled",
        "report-uri /console/csp",
    ].joined(separator: "; ")

    static let all: HTTPResponse.Headers = [
        ("Content-Security-Policy", policy),
        ("Referrer-Policy", "no-referrer"),
        ("X-Content-Type-Options", "nosniff"),
        ("X-Frame-Options", "DENY"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Permissions-Policy", "camera=(), geolocation=(), microphone=()"),
    ]

    static let unkept: HTTPResponse.Headers = all + [("Cache-Control", "no-store")]
    /// For what has its digest in its name.
    static let immutable: HTTPResponse.Headers = all + [("Cache-Control", "public, max-age=31536000, immutable")]
}
