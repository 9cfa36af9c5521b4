import Base
import Daemon

/// `storesim receive`: a webhook consumer that checks signatures and tells what comes.
struct ReceiveCommand: StoresimCommand {
    static var syntax: CommandSyntax {
        CommandSyntax(
            name: "receive",
            summary: "Receives webhooks, checks their signatures and prints a line for each.",
            options: [
                .init(name: "--listen", value: "HOST:PORT", help: "where (127.0.0.1:0, a free port)"),
                .init(
                    name: "--secret", value: "whsec_…", help: "of the endpoint; several while one replaces another",
                    isRepeatable: true),
                .init(
                    name: "--secret-file", value: "FILE",
                    help: "with such secrets, a line each; other users of the host see what --secret was given"),
                .init(name: "--fail-first", value: "N", help: "answer 500 to the first N attempts of each event"),
                .init(
                    name: "--status", value: "CODE",
                    help: "answer the first requests so, one after another; then 200", isRepeatable: true),
                .init(name: "--json", value: nil, help: "JSON lines"),
            ])
    }

    private let address: HostAndPort
    private let signature: WebhookSignature?
    private let script: AnswerScript
    private let json: Bool

    init(_ arguments: CommandArguments) throws(UsageError) {
        address = try arguments.value(
            "--listen", "HOST:PORT", default: HostAndPort(host: "127.0.0.1", port: 0)
        ) { HostAndPort($0) }
        let secrets = try arguments.texts("--secret") + ReceiveCommand.secrets(in: arguments.text("--secret-file"))
        signature = secrets.isEmpty ? nil : WebhookSignature(secrets: secrets)
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
            throw UsageError("storesim receive: --fail-first and --status exclude each other")
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
            terminal.line(json ? delivery.json.text : delivery.text)
        }
        let url = "http://\(receiver.address)/"
        terminal.line(
            json
                ? JSON.object(["message": .string("listening"), "address": .string("\(receiver.address)")]).text
                : "Receiving on \(url) (POST \(url)control {\"status\":500} makes it answer badly)")
        _ = Signals.wait()
        receiver.stop()
        return 0
    }
}
