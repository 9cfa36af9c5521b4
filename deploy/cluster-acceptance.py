"""Runs parts of the acceptance suite on a Citus cluster: each installation's database is a coordinator with two servers.

The suite's checks run as they are. Only what an operator of a cluster does otherwise is different: three servers instead of
one, and `entitled migrate --shards 4` in the place of `entitled migrate`. The program is $ENTITLED_BIN.

usage: cluster-acceptance.py SUITE [-k PATTERN] [PART …]
"""

import os
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(sys.argv[1]).resolve()))

import harness  # noqa: E402

SHARDS = 4


class Server(harness.Postgres):
    """A server with the extension."""

    def start(self):
        # Citus looks for a password file in the home of the server's process.
        os.environ["HOME"] = str(self.folder)
        return super().start()

    def _configure(self):
        super()._configure()
        with open(self.data / "postgresql.auto.conf", "a", encoding="utf-8") as file:
            file.write("shared_preload_libraries = 'citus'\nmax_prepared_transactions = 100\nmax_connections = 200\n"
                       "citus.node_connection_timeout = '2s'\ncitus.recover_2pc_interval = '5s'\n")


class Cluster(Server):
    """The coordinator; the two other servers start, stop and crash with it."""

    def __init__(self, folder):
        super().__init__(folder)
        self.others = []
        for number in (1, 2):
            place = folder / f"server{number}"
            place.mkdir()
            place.chmod(0o755)
            self.others.append(Server(place))

    def start(self):
        for server in self.others:
            server.start()
        return super().start()

    def stop(self, mode="fast"):
        super().stop(mode)
        for server in self.others:
            server.stop(mode)

    def close(self):
        for server in self.others:
            server.close()
        super().close()

    def create_database(self, name):
        super().create_database(name)
        for server in self.others:
            server.create_database(name)
        for server in (*self.others, self):
            server.query(name, "CREATE EXTENSION citus")
        self.query(name, f"SELECT citus_set_coordinator_host('127.0.0.1', {self.port})")
        for server in self.others:
            self.query(name, f"SELECT citus_add_node('127.0.0.1', {server.port})")


def migrate(installation):
    installation.succeed("migrate", "--shards", str(SHARDS), timeout=120)
    installation._use_role_urls()
    return installation


version = harness.postgres_programs().parent.name
if not pathlib.Path(f"/usr/share/postgresql/{version}/extension/citus.control").exists():
    print("cluster-acceptance: skipped, since Postgres has no extension citus here")
    sys.exit(0)

harness.Postgres = Cluster
harness.Installation.migrate = migrate

os.chdir(sys.argv[1])
unittest.main(module=None, argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
