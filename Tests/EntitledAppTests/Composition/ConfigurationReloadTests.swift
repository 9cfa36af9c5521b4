import Base
import Daemon
import EntitledApp
import Synchronization
import TestSupport
import Testing

/// What a reload does with the roles of a process.
@Suite struct ConfigurationReloadTests {
    private struct Refused: Error {}

    /// A file that a test changes, and roles that say what they are told.
    private final class Scene: Sendable {
        private static let path = ConfigurationFile.standardPath
        /// What was applied and ended, in order.
        let events = Monitor<[String]>([])
        let refusing = Monitor<Set<String>>([])
        let tape = LogTape()
        private let parts: ConfigurationReload

        init(_ text: String) throws {
            let file = Box(text)
            let source = ConfigurationSource(
                file: nil,
                ConfigurationContext(environment: [:], workingDirectory: "/srv", isSuperuser: false) { path in
                    path == Scene.path ? file.reading.withLock { $0 } : .missing
                })
            box = file
            parts = ConfigurationReload(
                source, try source.read(), notifier: SystemdNotifier(environment: [:]), logger: tape.logger,
                metrics: Metrics())
            parts.begin { [events, refusing] configuration in
                let limit = configuration.ingest.maxBodyBytes
                return ["ingest", "worker", "api"].map { role in
                    ConfigurationReload.Step(role: role) {
                        if refusing.read({ $0.contains(role) }) { throw Refused() }
                        events.change { $0.append("\(role) \(limit)") }
                        return { events.change { $0.append("end \(role)") } }
                    }
                }
            }
        }

        private final class Box: Sendable {
            let reading: Mutex<FileReading>
            init(_ text: String) { reading = Mutex(.contents(Array(text.utf8))) }
        }

        private let box: Box

        /// - Parameter text: nil: the file is gone.
        func reload(_ text: String?) -> [String] {
            box.reading.withLock { $0 = text.map { .contents(Array($0.utf8)) } ?? .missing }
            events.change { $0 = [] }
            parts.reload()
            return events.read { $0 }
        }
    }

    private static func file(_ limit: Int) -> String { "{ ingest: { max_body_bytes: \(limit) } }" }

    @Test func `all roles work by the new configuration before the first waits for its former work`() throws {
        let scene = try Scene(Self.file(2000))
        #expect(scene.reload(Self.file(2000)) == [])
        #expect(
            scene.reload(Self.file(3000)) == [
                "ingest 3000", "worker 3000", "api 3000", "end ingest", "end worker", "end api",
            ])
    }

    @Test func `the former file is applied when it comes back after some roles took another`() throws {
        let scene = try Scene(Self.file(2000))
        scene.refusing.change { $0 = ["api"] }
        #expect(scene.reload(Self.file(3000)) == ["ingest 3000", "worker 3000", "end ingest", "end worker"])
        scene.refusing.change { $0 = [] }
        #expect(
            scene.reload(Self.file(2000)) == [
                "ingest 2000", "worker 2000", "api 2000", "end ingest", "end worker", "end api",
            ])
        #expect(scene.reload(Self.file(2000)) == [])
    }

    @Test func `where no role took it, the former file is in force`() throws {
        let scene = try Scene(Self.file(2000))
        scene.refusing.change { $0 = ["ingest", "worker", "api"] }
        #expect(scene.reload(Self.file(3000)) == [])
        scene.refusing.change { $0 = [] }
        #expect(scene.reload(Self.file(2000)) == [])
        #expect(scene.reload(Self.file(3000)).count == 6)
    }

    @Test func `a file that is gone changes nothing, although a process starts without the standard one`() throws {
        let scene = try Scene(Self.file(2000))
        #expect(scene.reload(nil) == [])
        #expect(scene.tape.text.contains("configuration reload failed") && scene.tape.text.contains("no file"))
        #expect(scene.reload(Self.file(2000)) == [])
        #expect(scene.reload(Self.file(3000)).count == 6)
    }
}
