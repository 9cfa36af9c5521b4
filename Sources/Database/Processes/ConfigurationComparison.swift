/// Whether the processes of an installation work by the same configuration.
///
/// Only processes of one version are compared: another version has other keys and defaults, so that its hash of the same
/// file may be another one. A process that says nothing is unknown, not different.
package struct ConfigurationComparison: Sendable, Equatable {
    /// Processes of one version that work by the same configuration.
    package struct Group: Sendable, Equatable {
        package let configuration: ConfigurationDigest
        package let version: String
        package let processes: [RunningProcess]
    }

    /// The largest first.
    package let groups: [Group]
    package let unknown: [RunningProcess]

    package init(_ processes: [RunningProcess]) {
        struct Key: Hashable {
            let version: String
            let configuration: ConfigurationDigest
        }
        var members: [Key: [RunningProcess]] = [:]
        var unknown: [RunningProcess] = []
        for process in processes {
            guard let version = process.version, let configuration = process.configuration else {
                unknown.append(process)
                continue
            }
            members[Key(version: version, configuration: configuration), default: []].append(process)
        }
        self.unknown = unknown
        groups = members.map { Group(configuration: $0.configuration, version: $0.version, processes: $1) }
            .sorted {
                ($1.processes.count, $0.version, $0.configuration.text)
                    < ($0.processes.count, $1.version, $1.configuration.text)
            }
    }

    /// The groups of versions that have more than one.
    package var differing: [Group] {
        let numbers = groups.reduce(into: [:]) { $0[$1.version, default: 0] += 1 }
        return groups.filter { (numbers[$0.version] ?? 0) > 1 }
    }

    /// Whether other processes of the same version work by another configuration; nil: that is unknown.
    package func differs(_ process: RunningProcess) -> Bool? {
        guard let version = process.version else { return nil }
        return differing.contains { $0.version == version }
    }
}
