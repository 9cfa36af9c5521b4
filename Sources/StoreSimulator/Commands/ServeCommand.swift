import Base
import Daemon

/// `storesim serve`: Apple's side of an app, on this host: the Server API and the sender of notifications.
struct ServeCommand: StoresimCommand {
    static var syntax: CommandSyntax {
        CommandSyntax(
            name: "serve", summary: "Plays Apple's Server API, and sends notifications with Apple's retries.",
            options: [
                .init(name: "--dir", value: "DIR", help: "where certificates, key and configuration go (./storesim)"),
                .init(name: "--port", value: "N", help: "on 127.0.0.1 (0, a free one)"),
                .init(
                    name: "--to", value: "URL",
                    help: "where notifications go: http://HOST[:PORT][/PATH]; without it nothing arrives"),
                .init(name: "--bundle-id", value: "ID", help: "of the app (com.example.app)"),
                .init(name: "--apple-app-id", value: "N", help: "of the app (1234567890)"),
                .init(name: "--environment", value: "E", help: "Sandbox (default) or Production"),
                .init(name: "--scenario", value: "S", help: "mixed (default), year, every-kind or story"),
                .init(name: "--subscribers", value: "N", help: "how many lives (10)"),
                .init(name: "--seed", value: "S", help: "the same seed and --at tell the same lives"),
                .init(
                    name: "--at", value: "TIME",
                    help: "when the story ends, ISO 8601 (now); what lies ahead happens in its time"),
                .init(name: "--speed", value: "N", help: "the waits before retries pass N times as fast (1)"),
                .init(
                    name: "--retry-schedule", value: "WAITS",
                    help: "waits before retries, as in 1h,12h (Apple's: five in production, none in the sandbox)"),
                .init(name: "--lost", value: "PERCENT", help: "how many notifications never arrive (0)"),
                .init(name: "--requests-per-second", value: "N", help: "answer 429 beyond it; of each kind (no limit)"),
                .init(
                    name: "--fault", value: "KIND[:PERCENT][@PATH]",
                    help: "rate_limited, error, bad_gateway, unauthorized, not_found, garbage, slow or reset",
                    isRepeatable: true),
                .init(name: "--json", value: nil, help: "print one JSON object when it listens"),
            ])
    }

    private let path: String
    private let port: UInt16
    private let settings: StoreSettings
    private let plan: PlaybackPlan
    private let json: Bool

    init(_ arguments: CommandArguments) throws(UsageError) {
        path = arguments.text("--dir") ?? "./storesim"
        port = try arguments.integer("--port", in: 0...UInt16.max, default: 0)
        json = arguments.isSet("--json")
        var app = StoreApp()
        app.bundleID = try arguments.value("--bundle-id", "a bundle id", default: app.bundleID) {
            $0.isEmpty || $0.contains { "\"\\".contains($0) || $0.isNewline } ? nil : $0
        }
        app.appleAppID = try arguments.integer("--apple-app-id", in: 1...Int64.max, default: app.appleAppID)
        app.environment = try arguments.value("--environment", "Sandbox or Production", default: "Sandbox") {
            ["Sandbox", "Production"].contains($0) ? $0 : nil
        }
        let now = SystemClock().now()
        var plan = PlaybackPlan(end: try arguments.value("--at", "a time in ISO 8601", default: now, Timestamp.parse))
        plan.app = app
        plan.scenario = try arguments.choice("--scenario", default: .mixed)
        plan.subscribers = try arguments.integer("--subscribers", in: 1...100_000, default: 10)
        plan.seed = try arguments.integer("--seed", in: 0...UInt64.max, default: UInt64(truncatingIfNeeded: now))
        self.plan = plan
        settings = try ServeCommand.settings(arguments, plan)
    }

    private static func settings(
        _ arguments: CommandArguments, _ plan: PlaybackPlan
    ) throws(UsageError) -> StoreSettings {
        var settings = StoreSettings()
        settings.app = plan.app
        settings.seed = plan.seed
        if let text = arguments.text("--to") {
            guard let url = ReceiverURL(text) else { throw arguments.wrong("--to", text, "http://HOST[:PORT][/PATH]") }
            settings.receiver = url
        }
        settings.speed = try arguments.value("--speed", "a number above 0", default: 1) {
            Double($0).flatMap { $0 > 0 && $0 <= 1e9 ? $0 : nil }
        }
        settings.retrySchedule = try arguments.value(
            "--retry-schedule", "a list of durations such as 1h,12h", default: nil
        ) {
            let waits = $0.split(separator: ",", omittingEmptySubsequences: false).map { Duration(text: String($0)) }
            return waits.contains(nil) ? nil : .some(waits.compactMap(\.self))
        }
        settings.lost = try arguments.integer("--lost", in: 0...100, default: 0)
        if arguments.isSet("--requests-per-second") {
            settings.requestsPerSecond = try arguments.integer("--requests-per-second", in: 1...1_000_000, default: 50)
        }
        for text in arguments.texts("--fault") {
            guard let fault = StoreFault(text: text) else {
                throw arguments.wrong("--fault", text, "KIND[:PERCENT][@PATH]")
            }
            settings.faults.append(fault)
        }
        return settings
    }

    func run(_ terminal: Terminal) throws -> Int32 {
        Signals.block()
        let folder = try ServeFolder(making: path)
        let pki = try folder.pki(now: SystemClock().now())
        let token = try folder.token(bundleID: plan.app.bundleID)
        let service = StoreService(settings, pki, token: token, notifications: plan.notifications())
        try service.start(port: port)
        let file = try folder.writeConfiguration(plan.app, token, pki, baseURL: service.baseURL)
        terminal.line(json ? described(service, pki, folder, file).text : text(service, pki, file))
        _ = Signals.wait()
        service.stop()
        return 0
    }

    private func described(
        _ service: StoreService, _ pki: StorePKI, _ folder: ServeFolder, _ file: String
    ) -> JSON {
        .object([
            "message": .string("listening"), "base_url": .string(service.baseURL), "config": .string(file),
            "issuer_id": .string(service.token.issuerID), "key_id": .string(service.token.keyID),
            "private_key_file": .string(folder.keyPath(service.token.keyID)),
            "root_file": .string(PKIFolder(folder.path).rootPath), "root_sha256": .string(pki.rootFingerprint),
            "bundle_id": .string(plan.app.bundleID), "apple_app_id": .int(plan.app.appleAppID),
            "environment": .string(plan.app.environment), "seed": .string("\(plan.seed)"),
        ])
    }

    private func text(_ service: StoreService, _ pki: StorePKI, _ file: String) -> String {
        """
        Apple's Server API for \(plan.app.bundleID), \(plan.app.environment): \(service.baseURL)
        \(plan.subscribers) subscribers of seed \(plan.seed); their ids: \(service.baseURL)/control/customers
        To ask it: entitled --config \(file) apple status ID
        To have it fail once: curl -d '{"kind":"rate_limited","seconds":2}' \(service.baseURL)/control/faults
        """
    }
}

extension PlaybackPlan {
    /// All of them, by date.
    package func notifications() -> [StoreNotification] {
        var all: [StoreNotification] = []
        forEach {
            all.append($0.notification)
            return true
        }
        return all.enumerated().sorted { ($0.element.signedDate, $0.offset) < ($1.element.signedDate, $1.offset) }
            .map(\.element)
    }
}
