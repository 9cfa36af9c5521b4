import Base
import CLI
import Daemon

/// `storesim receive`: a webhook consumer that checks signatures and tells what comes.
struct ReceiveCommand: Command {
    static let declaration = CommandDeclaration(
        "receive", "Receive webhooks, check their signatures and print a line for each.",
        options: [
            OptionDeclaration(
                "--listen", .text("HOST:PORT"), "Address to listen on; default: 127.0.0.1:0, a free port."),
            OptionDeclaration(
                "--secret", .text("whsec_…"), isRepeatable: true,
                "Secret of the endpoint, several while one replaces another."),
            OptionDeclaration(
                "--secret-file", .text("FILE"),
                "File of such secrets, a line each; other users of the host can see the value of --secret."),
            OptionDeclaration("--fail-first", .text("N"), "Answer 500 to the first N attempts of each event."),
            OptionDeclaration(
                "--status", .text("CODE"), isRepeatable: true,
                "Answer the first requests with these statuses, one after another, and then with 200."),
            OptionDeclaration("--json", "Print JSON lines."),
        ],
        examples: ["receive --listen 127.0.0.1:9000 --secret-file secret"])

    private let address: HostAndPort
    private let signature: WebhookSignatureCheck?
    private let script: AnswerScript
    private let json: Bool

    init(_ parsed: ParsedArguments) throws(UsageError) {
        let arguments = CommandArguments(parsed, of: "receive")
        address = try arguments.value(
            "--listen", "HOST:PORT", default: HostAndPort(host: "127.0.0.1", port: 0)
        ) { HostAndPort($0) }
        let secrets = try arguments.texts("--secret") + ReceiveCommand.secrets(in: arguments.text("--secret-file"))
        signature = secrets.isEmpty ? nil : WebhookSignatureCheck(secrets: secrets)
        guard secrets.isEmpty || signature != nil else {
            throw UsageError("storesim receive: --secret is not whsec_ and base64")
        }
        var statuses: [Int] = []
        for text in arguments.texts("--status") {
            guard let status = Int(text), (200...599).contains(status) else {
                throw arguments.wrong("--status", text, "a status from 200 to 599")
            }
            statuses.append(status)
        }
        let failFirst = try arguments.integer("--fail-first", in: 0...1000, default: 0)
        guard failFirst == 0 || statuses.isEmpty else {
            throw UsageError("storesim receive: --fail-first and --status cannot be combined")
        }
        script = AnswerScript(failFirst: failFirst, statuses: statuses)
        json = arguments.isSet("--json")
    }

    private static func secrets(in file: String?) throws(UsageError) -> [String] {
        guard let file else { return [] }
        guard let bytes = try? FileAccess.read(file) else {
            throw UsageError("storesim receive: --secret-file \(file) cannot be read")
        }
        return String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace).map(String.init)
    }

    func run(_ terminal: Terminal) throws -> Int32 {
        Signals.block()
        let json = json
        let receiver = try WebhookReceiver(address, signature: signature, script: script) { delivery in
            terminal.print(json ? delivery.json.text : delivery.text)
        }
        let url = "http://\(receiver.address)/"
        terminal.print(
            json
                ? JSON.object(["message": .string("listening"), "address": .string("\(receiver.address)")]).text
                : "Receiving on \(url) (POST \(url)control {\"status\":500} makes it answer badly)")
        _ = Signals.wait()
        receiver.stop()
        return 0
    }
}
