import EntitledApp
import Glibc

exit(EntitledProgram.run(Array(CommandLine.arguments.dropFirst())))
