import Base
import Database
import Subscriptions

extension IdentityGroup {
    var faults: [Difference] {
        let empty = ids.isEmpty ? roots.filter(\.value).keys.sorted() : []
        var faults = empty.map { customer($0, found: $0, expected: nil) }
        for component in components {
            if roots[component.root] != true {
                faults.append(customer(component.root, found: nil, expected: component.root))
            }
            let behavior = behaviors[component.root]
            if behavior != component.restoreBehavior {
                faults.append(
                    Difference(
                        subject: .customer(component.root), member: "restore_behavior",
                        found: behavior.map { .string($0.rawValue) },
                        expected: component.restoreBehavior.map { .string($0.rawValue) }))
            }
            for id in component.ids {
                guard let found = ids[id]?.root, found != component.root else { continue }
                faults.append(
                    Difference(
                        subject: .customer(id), member: "original_app_user_id", found: .string(found),
                        expected: .string(component.root)))
            }
        }
        return faults
    }

    private func customer(_ id: String, found: String?, expected: String?) -> Difference {
        Difference(
            subject: .customer(id), member: "record", found: found.map { .string($0) },
            expected: expected.map { .string($0) })
    }
}
