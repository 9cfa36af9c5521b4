import Postgres

/// Tests name columns by their place, counted from 0, where the SELECT's list stands beside it; what runs in production cannot.
extension ColumnName: ExpressibleByIntegerLiteral {
    public init(integerLiteral place: Int) {
        self.init(place: place)
    }
}
