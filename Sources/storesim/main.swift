import FoundationEssentials
import Glibc
import StoreSimulator

exit(StoresimProgram.run(Array(CommandLine.arguments.dropFirst()), ProcessInfo.processInfo.environment))
