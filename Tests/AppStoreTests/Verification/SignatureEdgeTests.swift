import Base
import Crypto
import Testing

@testable import AppStore

/// Signatures, headers and spellings at the edge of what a JWS may be.
struct SignatureEdgeTests {
    private typealias Reason = VerificationFailure.Reason

    private let chain: MintedChain
    /// The order of P-256 (SEC 2 §2.4.2).
    private static let order = Hex.decode("FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551") ?? []

    init() throws {
        chain = try MintedChain()
    }

    private func parts(_ jws: [UInt8]) -> [String] {
        String(decoding: jws, as: UTF8.self).split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    }

    private func reason(_ parts: [String]) -> Reason? { chain.reason(Array(parts.joined(separator: ".").utf8)) }

    @Test func `a signature is 64 bytes of two numbers from 1 to below the order`() throws {
        let genuine = parts(try chain.sign())
        #expect(reason(genuine) == nil)
        let signature = try #require(Base64.decodeURL(genuine[2].utf8))
        let (r, s) = (Array(signature.prefix(32)), Array(signature.suffix(32)))
        let (zero, top) = ([UInt8](repeating: 0, count: 32), [UInt8](repeating: 0xff, count: 32))
        let der = try chain.key.signDER(Array("\(genuine[0]).\(genuine[1])".utf8))
        let forged: [[UInt8]] = [
            [], zero + s, r + zero, zero + zero, Self.order + s, r + Self.order, top + s, r + top, s + r,
            Array(signature.dropLast()), Array(signature.dropFirst()), signature + [0], [0] + signature, der,
            [0] + r + [0] + s, Array(Hex.encode(signature).utf8), signature + signature,
        ]
        for bytes in forged {
            #expect(reason([genuine[0], genuine[1], Base64.encodeURL(bytes)]) == .badSignature)
        }
    }

    @Test func `padding, other alphabets and spare bits are refused in each part`() throws {
        // All three parts have bits that belong to no byte.
        var payload = MintedChain.payload()
        while payload.bytes.count % 3 != 1, case .object(let members) = payload {
            payload = .object(members + [.init(name: "x\(members.count)", value: 1)])
        }
        var header = chain.header
        while header.count % 3 != 1 { header.append(0x20) }
        let genuine = parts(try chain.sign(payload, header: header))
        #expect(reason(genuine) == nil)
        for index in 0..<3 {
            let last = try #require(genuine[index].utf8.last)
            // The next character differs in the lowest bit only, unless a range of the alphabet ends here.
            let next = String(decoding: genuine[index].utf8.dropLast() + [last + 1], as: UTF8.self)
            for text in [
                next, genuine[index] + "==", genuine[index] + "=", "+" + genuine[index].dropFirst(),
                "/" + genuine[index].dropFirst(), genuine[index] + "\n", " " + genuine[index], genuine[index] + "A",
                genuine[index] + "%3D", genuine[index] + "\u{e9}",
            ] {
                var changed = genuine
                changed[index] = text
                let found = reason(changed)
                #expect(found == .malformedJWS || (text == genuine[index] + "A" && found != nil), "part \(index)")
            }
        }
    }

    @Test func `an algorithm other than ES256 is refused, whatever signs`() throws {
        let texts = chain.certificates.map { Base64.encode($0) }
        let public256 = chain.key.publicKey()
        for algorithm in ["none", "None", "HS256", "es256", "ES256 ", "ES384", "RS256", "PS256", "EdDSA", "", "ES256K"]
        {
            let jws = parts(try chain.sign(header: MintedChain.header(texts, algorithm: algorithm)))
            #expect(reason(jws) == .unsupportedAlgorithm, "\(algorithm)")
            #expect(reason([jws[0], jws[1], ""]) == .unsupportedAlgorithm)
            // A reader that lets the header choose takes the public key for a shared secret.
            let signed = Array("\(jws[0]).\(jws[1])".utf8)
            for secret in [public256, chain.certificates[0], Array(PEMBlock.encode("PUBLIC KEY", public256).utf8)] {
                let mac = Base64.encodeURL(Digest.hmacSHA256(key: secret, signed))
                #expect(reason([jws[0], jws[1], mac]) == .unsupportedAlgorithm)
            }
        }
    }

    @Test func `unknown members of the header are ignored, and never used`() throws {
        let texts = JSON.strings(chain.certificates.map { Base64.encode($0) })
        let stranger = try MintedChain()
        let more: [(String, JSON)] = [
            ("kid", "k"), ("typ", "JWT"), ("x5t", "AA"), ("b64", .bool(false)), ("zip", "DEF"), ("jku", "https://x/"),
            ("x5u", "https://x/"), ("jwk", .object(["kty": "EC"])), ("deep", .array([.object(["a": .array([])])])),
            ("X5C", .strings(stranger.certificates.map { Base64.encode($0) })), ("Crit", .strings(["x"])),
            ("a:b", #"{"c\":":"d"#), ("", .null),
        ]
        for (name, value) in more {
            let header = JSON.object([
                .init(name: name, value: value), .init(name: "alg", value: "ES256"), .init(name: "x5c", value: texts),
            ])
            #expect(chain.reason(try chain.sign(header: header.bytes)) == nil, "\(name)")
            let reversed = JSON.object(Array((header.members ?? []).reversed()))
            #expect(chain.reason(try chain.sign(header: reversed.bytes)) == nil, "\(name)")
        }
    }

    @Test func `a header with critical extensions is refused`() throws {
        let texts = JSON.strings(chain.certificates.map { Base64.encode($0) })
        let values: [JSON] = [.strings(["exp"]), .strings([]), .strings(["alg"]), .null, "exp", .bool(false)]
        for value in values {
            let header = JSON.object(["alg": "ES256", "x5c": texts, "crit": value, "exp": 1])
            #expect(chain.reason(try chain.sign(header: header.bytes)) == .malformedJWS)
        }
    }

    @Test func `a header with a member twice is refused, however it is spelled`() throws {
        let own = JSON.strings(chain.certificates.map { Base64.encode($0) }).text
        let other = JSON.strings(try MintedChain().certificates.map { Base64.encode($0) }).text
        let headers = [
            #"{"alg":"ES256","alg":"none","x5c":\#(own)}"#, #"{"alg":"none","alg":"ES256","x5c":\#(own)}"#,
            #"{"alg":"ES256","alg":"ES256","x5c":\#(own)}"#, #"{"alg":"ES256","\u0061lg":"none","x5c":\#(own)}"#,
            #"{"alg":"ES256","x5c":\#(own),"x5c":\#(other)}"#, #"{"alg":"ES256","x5c":\#(other),"x5c":\#(own)}"#,
            #"{"alg":"ES256","x5c":\#(own),"k":1,"k":2}"#,
        ]
        for header in headers {
            #expect(chain.reason(try chain.sign(header: Array(header.utf8))) == .malformedJWS, "\(header.prefix(40))")
        }
    }

    @Test func `members of what is inside a header are not counted as its own`() throws {
        let own = JSON.strings(chain.certificates.map { Base64.encode($0) }).text
        let inside = #"{"alg":"ES256","k":[{"alg":1,"x":{"alg":2}}],"t":"a\\\":{","x5c":\#(own)}"#
        #expect(chain.reason(try chain.sign(header: Array(inside.utf8))) == nil)
        #expect(JSONText.memberCount(ofObject: Array(inside.utf8)) == 4)
    }

    @Test func `a header may be as large as its bound, and not a byte larger`() throws {
        let texts = JSON.strings(chain.certificates.map { Base64.encode($0) })
        func header(_ filling: Int) -> [UInt8] {
            JSON.object(["alg": "ES256", "x": .string(String(repeating: "x", count: filling)), "x5c": texts]).bytes
        }
        // Three bytes make four characters.
        let room = SigningHeader.maximumSize / 4 * 3 - header(0).count
        #expect(chain.reason(try chain.sign(header: header(room))) == nil)
        #expect(chain.reason(try chain.sign(header: header(room + 1))) == .malformedJWS)
        #expect(chain.reason(try chain.sign(header: header(4_000_000))) == .malformedJWS)
    }

    @Test func `depth in a header or a payload ends in a refusal`() throws {
        let deep = String(repeating: "[", count: 20_000) + String(repeating: "]", count: 20_000)
        let own = JSON.strings(chain.certificates.map { Base64.encode($0) }).text
        #expect(
            chain.reason(try chain.sign(header: Array(#"{"alg":"ES256","x5c":\#(own),"x":\#(deep)}"#.utf8)))
                == .malformedJWS)
        #expect(chain.reason(try chain.sign(.raw(Array(#"{"x":\#(deep)}"#.utf8)))) == .malformedPayload)
    }
}
