import Base
import CLI

/// `storesim sign`: a JWS as Apple makes it, of any JSON object.
struct SignCommand: Command {
    static let declaration = CommandDeclaration(
        "sign", "Sign any JSON object as Apple would and print the compact JWS.",
        arguments: [ArgumentDeclaration(.text("FILE|-"), "JSON object; - reads standard input.")],
        options: [
            OptionDeclaration("--pki", .text("DIR"), isRequired: true, "Folder that `storesim pki` made."),
            OptionDeclaration(
                "--kind", .text("KIND"),
                "notification (default: nested objects are signed, too), transaction or renewal."),
            OptionDeclaration("--body", "Print the request body, {\"signedPayload\":…}; only for notifications."),
        ],
        examples: ["sign payload.json --pki pki --body"])

    private enum Kind: String, CaseIterable {
        case notification, transaction, renewal
    }

    private let file: String
    private let folder: PKIFolder
    private let kind: Kind
    private let asBody: Bool

    init(_ parsed: ParsedArguments) throws(UsageError) {
        let arguments = CommandArguments(parsed, of: "sign")
        file = try arguments.required("FILE|-")
        folder = PKIFolder(try arguments.required("--pki"))
        kind = try arguments.choice("--kind", default: .notification)
        asBody = arguments.isSet("--body")
        guard !asBody || kind == .notification else {
            throw UsageError("storesim sign: --body is for notifications only")
        }
    }

    private struct Malformed: Error, CustomStringConvertible {
        let description: String
    }

    func run(_ terminal: Terminal) throws -> Int32 {
        let bytes = try FileAccess.read(file)
        guard let json = try? JSON(parsing: bytes), let members = json.members else {
            throw Malformed(description: "\(file == "-" ? "standard input" : file) holds no JSON object")
        }
        let signer = NotificationSigner(try PKIFolder(folder.path).load())
        // What needs no change is signed byte for byte.
        let nested = kind == .notification ? try SignCommand.signNested(members, signer) : nil
        let jws = try signer.sign(bytes: nested?.bytes ?? bytes)
        terminal.print(String(decoding: asBody ? NotificationSigner.body(jws) : jws, as: UTF8.self))
        return 0
    }

    /// Objects where Apple has a JWS become one; nil when there are none.
    private static func signNested(_ members: [JSON.Member], _ signer: NotificationSigner) throws -> JSON? {
        var isChanged = false
        let signed = try members.map { member in
            guard ["data", "appData"].contains(member.name), let inner = member.value.members else { return member }
            let content = try inner.map { field in
                guard field.name.hasPrefix("signed"), field.name.hasSuffix("Info"), field.value.members != nil else {
                    return field
                }
                isChanged = true
                return JSON.Member(name: field.name, value: .string(try signer.sign(field.value)))
            }
            return JSON.Member(name: member.name, value: .object(content))
        }
        return isChanged ? .object(signed) : nil
    }
}
