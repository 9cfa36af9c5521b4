import Base
import HTTPServer
import Records

/// Reading customers. Who is asked for and not there is made.
package struct SubscriberRoutes: Sendable {
    private let answers: SubscriberAnswers
    private let clock: any WallClock

    package init(answers: SubscriberAnswers, clock: any WallClock) {
        self.answers = answers
        self.clock = clock
    }

    package var routes: [APIRoute] {
        [
            APIRoute("GET", "/v1/subscribers/{app_user_id}", .anyKey) { call in
                let id = try call.appUserID()
                let isKnown = try CustomerStore.load([id], on: call.connection)[id] != nil
                if !isKnown { try CustomerStore.make([id], now: clock.now(), on: call.connection) }
                return try answers.answer(call, of: id, status: isKnown ? 200 : 201)
            }
        ]
    }
}
