import Glibc

exit(BenchmarksProgram.run(Array(CommandLine.arguments.dropFirst())))
