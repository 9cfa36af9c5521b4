/// Reading customers. One who is asked for and not there is made, unless the key may only read.
package struct SubscriberRoutes: Sendable {
    private let batcher: SubscriberBatcher

    package init(batcher: SubscriberBatcher) {
        self.batcher = batcher
    }

    package var routes: [APIRoute] {
        [APIRoute("GET", "/v1/subscribers/{app_user_id}", .anyKey, gatheredBy: batcher)]
    }
}
