import Base

/// How components look: colours, sizes, pictures and the like.
extension PaywallComponentShapes {
    static func themed(_ shape: DocumentShape) -> DocumentShape {
        .object(.required("light", shape), .optional("dark", shape))
    }

    static let points = DocumentShape.list(
        of: .object(.required("color", PaywallShapes.hexColor), .required("percent", .integer)))

    static let colorScheme = themed(
        .byType([
            "hex": .object(.required("value", PaywallShapes.hexColor)), "alias": .object(.required("value", .text)),
            "linear": .object(.required("degrees", .integer), .required("points", points)),
            "radial": .object(.required("points", points)),
        ]))

    static let imageFiles = DocumentShape.object(
        .required("width", .integer), .required("height", .integer), .required("original", PaywallShapes.url),
        .required("heic", PaywallShapes.url), .required("heic_low_res", PaywallShapes.url),
        .optional("webp", PaywallShapes.url), .optional("webp_low_res", PaywallShapes.url))

    static let videoFiles = DocumentShape.object(
        .required("width", .integer), .required("height", .integer), .required("url", PaywallShapes.url),
        .optional("url_low_res", PaywallShapes.url), .optional("checksum", checksum),
        .optional("checksum_low_res", checksum))

    static let checksum = DocumentShape.object(.required("algo", .text), .required("value", .text))

    static let extent = DocumentShape.byType([
        "fit": .object(.optional("default", .size)), "fill": .object(),
        "fixed": .object(.required("value", .size)), "relative": .object(.required("value", .number)),
    ])

    static let size = DocumentShape.object(.required("width", extent), .required("height", extent))

    static let padding = DocumentShape.object(
        .optional("top", .number), .optional("bottom", .number), .optional("leading", .number),
        .optional("trailing", .number))

    static let border = DocumentShape.object(.required("color", colorScheme), .required("width", .number))

    static let shadow = DocumentShape.object(
        .required("color", colorScheme), .required("radius", .number), .required("x", .number),
        .required("y", .number))

    static let corners = DocumentShape.object(
        .optional("top_leading", .number), .optional("top_trailing", .number), .optional("bottom_leading", .number),
        .optional("bottom_trailing", .number))

    static let shape = DocumentShape.byType([
        "rectangle": .object(.optional("corners", corners)), "pill": .object(),
    ])

    static let mask = DocumentShape.byType([
        "rectangle": .object(.optional("corners", corners)), "circle": .object(), "concave": .object(),
        "convex": .object(),
    ])

    static let iconShape = DocumentShape.byType([
        "rectangle": .object(.optional("corners", corners)), "circle": .object(),
    ])

    static let fitMode = DocumentShape.word("fit", "fill")
    static let horizontal = DocumentShape.word("leading", "center", "trailing")
    static let vertical = DocumentShape.word("top", "center", "bottom")
    static let alignment = DocumentShape.word(
        "center", "leading", "trailing", "top", "bottom", "top_leading", "top_trailing", "bottom_leading",
        "bottom_trailing")
    static let distribution = DocumentShape.word(
        "start", "center", "end", "space_between", "space_around", "space_evenly")

    static let dimension = DocumentShape.byType([
        "vertical": .object(.required("alignment", horizontal), .required("distribution", distribution)),
        "horizontal": .object(.required("alignment", vertical), .required("distribution", distribution)),
        "zlayer": .object(.required("alignment", alignment)),
    ])

    static let background = DocumentShape.byType([
        "color": .object(.required("value", colorScheme)),
        "image": .object(
            .required("value", themed(imageFiles)), .required("fit_mode", fitMode),
            .optional("color_overlay", colorScheme)),
        "video": .object(
            .required("value", themed(videoFiles)), .required("fallback_image", themed(imageFiles)),
            .required("fit_mode", fitMode), .required("loop", .flag), .required("mute_audio", .flag),
            .optional("color_overlay", colorScheme)),
    ])
}
