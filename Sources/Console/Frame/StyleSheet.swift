import Base
import Crypto
import HTTP

/// The one style sheet, under a name that changes with its bytes.
enum StyleSheet {
    static let bytes = EmbeddedFile.bytes("console.css")
    static let path = LocalPath("console", "assets", "console.\(Hex.encode(Digest.sha256(bytes).prefix(12))).css")
    static let response = HTTPResponse(
        status: 200, headers: [("Content-Type", "text/css; charset=utf-8")] + PageHeaders.immutable, body: bytes)
}
