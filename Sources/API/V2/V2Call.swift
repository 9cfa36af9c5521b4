import Base
import HTTP
import Subscriptions

/// What requests of REST v2 name.
extension APICall {
    /// The project of the path. An installation is one, and takes every id that can be one's.
    ///
    /// - Throws: `APIError`, 404.
    func project() throws -> String {
        let project = try parameter("project_id")
        let isID = project.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte & ~0x20) || byte == 0x2d || byte == 0x5f
        }
        guard isID, project.utf8.count <= 255 else {
            throw APIError.notFound(
                "There is no such project: an id has up to 255 letters, digits, hyphens and underscores.",
                parameter: "project_id")
        }
        return project
    }

    /// The customer of the path.
    ///
    /// - Throws: `APIError`, 400 or 404.
    func place() throws -> V2Place {
        V2Place(project: try project(), customer: try appUserID("customer_id"))
    }

    /// A text that the body must have.
    ///
    /// - Throws: `APIError`, 400.
    func text(_ name: String, of body: JSON) throws -> String {
        guard let value = body[name]?.stringValue, !value.isEmpty else {
            throw APIError.badRequest("\(name) must be a string that is not empty.", parameter: name)
        }
        return value
    }
}
