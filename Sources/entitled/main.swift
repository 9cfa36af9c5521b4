import EntitledApp
import Glibc

exit(EntitledApp.program.run(Array(CommandLine.arguments.dropFirst())))
