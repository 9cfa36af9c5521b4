/// Reading customers. One who is asked for and not there is made, unless the key may only read.
package struct SubscriberRoutes: Sendable {
    private let desk: SubscriberBatcher

    package init(desk: SubscriberBatcher) {
        self.desk = desk
    }

    package var routes: [APIRoute] {
        [APIRoute("GET", "/v1/subscribers/{app_user_id}", .anyKey, gatheredBy: desk)]
    }
}
