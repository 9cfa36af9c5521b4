import Fuzzing
import Glibc

exit(FuzzProgram.run(Array(CommandLine.arguments.dropFirst())))
