import Base
import Database

/// Who asks, and which sections they see.
package struct ViewerAnswer: DeskAnswer {
    package let viewer: Viewer

    package init(_ viewer: Viewer) { self.viewer = viewer }

    package var sections: [DeskSection] { DeskSection.allCases.filter(viewer.may) }

    package var json: JSON {
        .object([
            "user": .string(viewer.user), "role": .string(viewer.role.rawValue),
            "zone": .string(viewer.zone ?? "UTC"), "sections": .strings(sections.map(\.rawValue)),
            "personal_data": .string(viewer.personalData.rawValue),
        ])
    }
}
