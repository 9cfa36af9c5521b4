import Base

extension ServerAPIClient {
    /// A customer's purchases page by page, from a revision that was kept or from the beginning.
    package func transactionPages(
        of id: String, _ filter: TransactionFilter = TransactionFilter(), from revision: String? = nil,
        in environment: StoreEnvironment, _ options: CallOptions = CallOptions()
    ) -> PageReader<TransactionPage> {
        pages(from: revision) { revision throws(ServerAPIError) in
            try self.transactionPage(of: id, filter, after: revision, in: environment, options)
        }
    }

    /// A customer's refunds page by page.
    package func refundPages(
        of id: String, from revision: String? = nil, in environment: StoreEnvironment,
        _ options: CallOptions = CallOptions()
    ) -> PageReader<TransactionPage> {
        pages(from: revision) { revision throws(ServerAPIError) in
            try self.refundPage(of: id, after: revision, in: environment, options)
        }
    }

    /// Apple's notification history page by page, from the token of a page or from the beginning.
    ///
    /// - Parameter options: asked for each page, which has a deadline of its own.
    package func notificationPages(
        _ query: NotificationHistoryQuery, from token: String? = nil, in environment: StoreEnvironment,
        _ options: @escaping @Sendable () -> CallOptions = { CallOptions() }
    ) -> PageReader<NotificationPage> {
        PageReader(
            from: token,
            link: { .init(mark: $0.paginationToken, hasMore: $0.hasMore, isEmpty: $0.items.isEmpty) },
            fetch: { token in
                Result { () throws(ServerAPIError) in
                    try self.notificationPage(query, after: token, in: environment, options())
                }
            })
    }

    private func pages(
        from revision: String?, _ fetch: @escaping @Sendable (String?) throws(ServerAPIError) -> TransactionPage
    ) -> PageReader<TransactionPage> {
        PageReader(
            from: revision, link: { .init(mark: $0.revision, hasMore: $0.hasMore, isEmpty: $0.transactions.isEmpty) },
            fetch: { revision in Result { () throws(ServerAPIError) in try fetch(revision) } })
    }
}
