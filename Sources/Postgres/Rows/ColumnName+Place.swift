/// Columns by their place, until all are read by name.
extension ColumnName: ExpressibleByIntegerLiteral {
    package init(integerLiteral place: Int) {
        self.init(place: place)
    }
}
