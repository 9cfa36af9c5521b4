import Base
import CBuild

/// Which build this program is.
enum BuildIdentity {
    /// What the build was told of its source (`ENTITLED_REVISION`), as a rule a commit; nil if it was told nothing.
    static let revision: String? = entitled_revision().map { String(cString: $0) }

    /// What the linker made of the program's content: two builds have the same only if they are the same. Sixteen
    /// hexadecimal digits; nil if the linker made none.
    static let id: String? = {
        var bytes = [UInt8](repeating: 0, count: 64)
        let length = entitled_build_id(&bytes, bytes.count)
        return length == 0 ? nil : String(Hex.encode(bytes.prefix(length)).prefix(16))
    }()

    /// As in `entitled 0.2.0 (revision 1f2e3d4c5b6a, build 0123456789abcdef)`.
    static var line: String {
        let parts = [revision.map { "revision \($0)" }, id.map { "build \($0)" }].compactMap(\.self)
        return "entitled \(Version.current)" + (parts.isEmpty ? "" : " (\(parts.joined(separator: ", ")))")
    }
}
