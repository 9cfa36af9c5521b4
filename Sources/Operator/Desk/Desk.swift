import Subscriptions

/// The questions that operators ask. Pages, the API and commands are renderings of the answers.
///
/// Every function checks the role of its viewer, and throws `DeskError` where there is no answer.
package protocol Desk {
    var viewer: Viewer { get }

    func overview() throws -> Overview
    func search(_ question: SearchQuestion) throws -> DeskList<SearchHit>

    func customers(_ question: CustomersQuestion) throws -> DeskList<CustomerRow>
    /// - Parameter id: any id that names one customer: of the app, or of a purchase.
    func customer(_ id: String) throws -> CustomerAnswer
    func timeline(of id: String, _ question: TimelineQuestion) throws -> DeskList<TimelineRow>

    func purchases(_ question: PurchasesQuestion) throws -> DeskList<PurchaseRow>
    func purchase(_ key: PurchaseKey) throws -> PurchaseAnswer

    func events(_ question: EventsQuestion) throws -> DeskList<EventRow>
    /// - Parameter id: as in `webhook-id`.
    func event(_ id: String) throws -> EventAnswer

    func endpoints() throws -> DeskList<EndpointRow>
    func endpoint(_ id: String) throws -> EndpointAnswer

    func deliveries(_ question: DeliveriesQuestion) throws -> DeskList<DeliveryRow>
    /// - Parameter id: `dlv_…`.
    func delivery(_ id: String) throws -> DeliveryAnswer

    func notifications(_ question: NotificationsQuestion) throws -> DeskList<NotificationRow>
    func notification(_ id: NotificationName) throws -> StoredNotificationAnswer

    func outages() throws -> DeskList<OutageRow>
    func refunds(_ question: RefundsQuestion) throws -> DeskList<RefundRow>
    func products() throws -> DeskList<ProductRow>
    /// What operators noted on a customer, the newest first.
    func notes(of id: String, _ question: NotesQuestion) throws -> DeskList<NoteRow>
    func jobs(_ question: JobsQuestion) throws -> DeskList<JobRow>
    func job(_ number: Int64) throws -> JobAnswer
    func actions(_ question: ActionsQuestion) throws -> DeskList<ActionRow>
    /// What operators did, and what was refused to them; but for operators of the role `operator`, their own alone.
    func audit(_ question: AuditQuestion) throws -> DeskList<AuditRow>
    func workers() throws -> WorkersAnswer
    func charts() throws -> DeskList<ChartSummary>
    /// - Parameter name: of `ChartName`.
    func chart(_ name: String, _ question: ChartQuestion) throws -> ChartAnswer
    /// What needs an operator, the gravest first.
    func findings() throws -> DeskList<DeskFinding>
}

extension Desk {
    /// Who asks, and what they see.
    package func me() -> ViewerAnswer { ViewerAnswer(viewer) }
}
