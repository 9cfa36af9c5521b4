// What libFuzzer calls; compiled with the sources of the subjects by deploy/fuzz, not by the package.

private let subjects = (try? SignedDataSubjects.all()) ?? []

/// The first byte of an input chooses the subject.
@_cdecl("LLVMFuzzerTestOneInput")
public func readOneInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    guard let first = UnsafeBufferPointer(start: start, count: count).first, Int(first) < subjects.count else {
        return -1
    }
    let input = Array(UnsafeBufferPointer(start: start, count: count).dropFirst())
    if let what = subjects[Int(first)].read(input) {
        fatalError("\(subjects[Int(first)].name): \(what)")
    }
    return 0
}
