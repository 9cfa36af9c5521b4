import Synchronization

/// One notification on its way: signed once, by the thread that needs it first, however often it is sent.
final class PlannedNotification: Sendable {
    let notification: StoreNotification
    /// The number of the subscriber whose life it tells of, within its play.
    let life: UInt64
    private let signed = Mutex<[UInt8]?>(nil)

    init(_ notification: StoreNotification, of life: UInt64 = 0) {
        self.notification = notification
        self.life = life
    }

    /// The body of the request; the same bytes each time, as a repetition of Apple's has them.
    func body(_ signer: NotificationSigner) throws -> [UInt8] {
        try signed.withLock { signed in
            if let signed { return signed }
            let made = try signer.sign(notification).body
            signed = made
            return made
        }
    }

    /// The JWS alone, as Apple's history has it.
    func signedPayload(_ signer: NotificationSigner) throws -> String {
        let body = try body(signer)
        // `{"signedPayload":"` before it and `"}` behind it.
        return String(decoding: body.dropFirst(18).dropLast(2), as: UTF8.self)
    }
}
