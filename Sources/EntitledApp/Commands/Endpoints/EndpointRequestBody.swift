import Base
import Database

/// The members by which commands ask the operator API for an endpoint.
struct EndpointRequestBody {
    private(set) var members: [JSON.Member] = []

    mutating func add(_ name: String, _ text: String?) { add(name, text.map { .string($0) }) }

    mutating func add(_ name: String, _ value: JSON?) {
        if let value { members.append(JSON.Member(name: name, value: value)) }
    }

    /// Filters; nil: it is not said.
    mutating func add(_ name: String, list: [String]?) { add(name, list.map { .strings($0) }) }

    /// How requests are made. The console seals what is secret.
    mutating func add(_ values: EndpointRequestValues) {
        add("authorization", values.authorization?.exposed)
        if !values.headers.isEmpty {
            add("headers", list: values.headers.map { "\($0.name): \($0.value.exposed)" })
        }
        let schedule = values.schedule.map { schedule in
            schedule.waits.isEmpty
                ? "none" : schedule.waits.map { Duration.milliseconds($0).text }.joined(separator: ",")
        }
        add("retry_schedule", values.wantsStandardSchedule ? EndpointForm.standardSchedule : schedule)
    }
}
