import API
import Base
import Daemon

extension ValueFormat where Value == RequestLimit {
    /// Points for a time.
    static var requestLimit: ValueFormat<RequestLimit> {
        let periods = RequestLimit.periods
        return .text(
            "points and the time for which they are, from \(periods.lowerBound.text) to \(periods.upperBound.text),"
                + " as in \"30000/1m\"; \"off\" for no limit",
            schema: .textSchema(pattern: "^([1-9][0-9]*/[0-9]+(ms|s|m|h|d)|off)$"), write: \.text,
            read: RequestLimit.init(text:))
    }
}
