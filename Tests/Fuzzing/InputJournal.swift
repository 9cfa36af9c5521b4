import Glibc

/// The input that is being read, in a file that outlives the process: mapped, because a write for each input would take
/// longer than reading it.
///
/// Format: the length of the subject's name and of the input, eight bytes each in the machine's order; both.
package final class InputJournal {
    private static let size = 16 + 256 + Mutator.longest
    private let memory: UnsafeMutableRawPointer

    /// Nil if the file cannot be made.
    package init?(path: String) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC, 0o600)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard ftruncate(descriptor, off_t(InputJournal.size)) == 0,
            let memory = mmap(nil, InputJournal.size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0),
            memory != MAP_FAILED
        else { return nil }
        self.memory = memory
    }

    deinit {
        munmap(memory, InputJournal.size)
    }

    package func note(_ subject: String, _ input: [UInt8]) {
        let name = Array(subject.utf8.prefix(256))
        guard input.count <= Mutator.longest else { return }
        memory.storeBytes(of: name.count, as: Int.self)
        memory.storeBytes(of: input.count, toByteOffset: 8, as: Int.self)
        (memory + 16).copyMemory(from: name, byteCount: name.count)
        (memory + 16 + name.count).copyMemory(from: input, byteCount: input.count)
    }

    /// The last input in the bytes of a journal; nil if there is none.
    package static func last(in journal: [UInt8]) -> (subject: String, input: [UInt8])? {
        guard journal.count == size else { return nil }
        let (name, count) = journal.withUnsafeBytes {
            ($0.loadUnaligned(as: Int.self), $0.loadUnaligned(fromByteOffset: 8, as: Int.self))
        }
        guard (1...256).contains(name), (0...Mutator.longest).contains(count) else { return nil }
        let input = journal[(16 + name)..<(16 + name + count)]
        return (String(decoding: journal[16..<(16 + name)], as: UTF8.self), Array(input))
    }
}
