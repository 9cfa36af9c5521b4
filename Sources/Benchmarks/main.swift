import FoundationEssentials
import Glibc

exit(BenchmarksProgram.run(Array(CommandLine.arguments.dropFirst()), ProcessInfo.processInfo.environment))
