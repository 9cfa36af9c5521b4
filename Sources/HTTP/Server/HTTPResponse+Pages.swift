import Base

extension HTTPResponse {
    /// 303: the browser asks for this page of the same server next. There is no way to send it to another one.
    package static func seeOther(_ path: LocalPath, headers: Headers = []) -> HTTPResponse {
        HTTPResponse(status: 303, headers: [("Location", path.text)] + headers)
    }

    /// The response with one more cookie; each has a field of its own (RFC 6265 §3).
    package func setting(_ cookie: Cookie) -> HTTPResponse {
        var response = self
        response.headers.append(("Set-Cookie", cookie.field))
        return response
    }

    /// 304 without a body where the request has this strong tag already (RFC 9110 §13.1.2), else the response with it.
    package func tagged(_ tag: String, for head: HTTPRequestHead) -> HTTPResponse {
        var response = self
        response.headers.append(("ETag", "\"\(tag)\""))
        guard status == 200, head.method == "GET" || head.method == "HEAD",
            let known = head.header("if-none-match"),
            known == "*" || known.split(separator: ",").contains(where: { HTTPResponse.opaque($0) == "\"\(tag)\"" })
        else { return response }
        response.status = 304
        response.body = []
        response.headers.removeAll { $0.name == "Content-Type" }
        return response
    }

    /// A tag without spaces around it and without the mark of a weak one.
    private static func opaque(_ tag: Substring) -> Substring {
        let trimmed = tag.drop { $0 == " " }.prefix { $0 != " " }
        return trimmed.hasPrefix("W/") ? trimmed.dropFirst(2) : trimmed
    }
}
