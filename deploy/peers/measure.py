"""Measures queues on Postgres one after the other; `deploy/bench-peers` runs it.

Each peer gets a cluster of its own with the settings of entitled's private cluster. First 64 producers, each with its own
connection, insert one job per transaction (synchronous_commit=on); then one worker works all of them off, doing nothing
with a job. Jobs carry the bodies that entitled gets: about 18 KB of signed notification.
"""

import argparse
import asyncio
import json
import logging
import multiprocessing
import os
import pwd
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time

PRODUCERS = 64
PROCESSES = 2

SETTINGS = """
listen_addresses = ''
port = 5432
max_connections = 150
shared_buffers = 128MB
fsync = on
full_page_writes = on
synchronous_commit = on
max_wal_size = 2GB
jit = off
log_min_messages = warning
"""

# What a worker of notifications needs: no repeated ones, an order that does not matter, retries on a schedule, and an
# effect that happens once.
GIVES = {
    "entitled": "duplicates: refused for 180 days at least; order: any gives the same records, one writer a lane; retries: scheduled; "
    "effect: in the job's transaction, behind a fence",
    "pgq": "duplicates: no; order: yes, but what is retried goes to the end; retries: each asked for by the consumer; "
    "effect: once if in the transaction that ends the whole batch",
    "procrastinate": "duplicates: only while the first one waits; order: by locks, and a future retry holds up its key; "
    "retries: scheduled; effect: at least once",
    "pgqueuer": "duplicates: only while the first one is queued; order: no, except one job at a time; retries: asked for "
    "by the job or its executor; effect: at least once",
}

METHOD = {
    "pgq": "pgqd ticks each second; one consumer, whole batches",
    "procrastinate": "one worker, concurrency 32",
    "pgqueuer": "asyncpg pool, one worker, batches of 100",
    "entitled": "HTTP, signature, deduplication, compression; applying writes facts, purchase, event",
}


# What every measurement needs.


def bodies(file, count):
    """The bodies of presigned requests, as the Benchmarks program keeps them."""
    data = open(file, "rb").read()
    magic = b"entitled requests 1\n"
    assert data.startswith(magic), f"{file} has no requests"
    place, found = len(magic), []
    while len(found) < count and place + 12 <= len(data):
        length, head, name = struct.unpack_from("<III", data, place)
        start = place + 12 + name
        found.append(data[start + head : start + length].decode())
        place = start + length
    return found


class Cluster:
    """A private Postgres that goes with this object."""

    def __init__(self):
        self.bin = subprocess.check_output(["pg_config", "--bindir"], text=True).strip()
        self.folder = tempfile.mkdtemp(prefix="peers-")
        self.account = "postgres" if os.geteuid() == 0 else None
        if self.account:
            owner = pwd.getpwnam(self.account)
            os.chown(self.folder, owner.pw_uid, owner.pw_gid)
        self.run("initdb", "-D", f"{self.folder}/data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale")
        with open(f"{self.folder}/data/postgresql.conf", "a") as file:
            file.write(SETTINGS + f"unix_socket_directories = '{self.folder}'\n")
        self.run("pg_ctl", "-D", f"{self.folder}/data", "-w", "-l", f"{self.folder}/log", "start")
        self.postmaster = int(open(f"{self.folder}/data/postmaster.pid").readline())
        self.url = f"host={self.folder} user=postgres dbname=postgres"

    def run(self, program, *arguments):
        command = [f"{self.bin}/{program}", *arguments]
        subprocess.run(command, check=True, user=self.account, stdout=subprocess.DEVNULL, cwd=self.folder)

    def stop(self):
        self.run("pg_ctl", "-D", f"{self.folder}/data", "-w", "-m", "immediate", "stop")
        shutil.rmtree(self.folder)

    def cpu(self):
        """Seconds of all server processes, those that ended included."""
        ticks = 0
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                fields = open(f"/proc/{name}/stat").read().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(name) == self.postmaster:
                ticks += sum(map(int, fields[11:15]))
            elif int(fields[1]) == self.postmaster:
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def writes(self):
        import psycopg

        # Server processes tell their counters within a second or when they end.
        time.sleep(1.5)
        with psycopg.connect(self.url) as connection:
            return connection.execute(
                "SELECT (pg_current_wal_insert_lsn() - '0/0')::float8,"
                " coalesce(sum(n_tup_upd + n_tup_del), 0)::float8 FROM pg_stat_user_tables"
            ).fetchone()

    def number(self, sql):
        import psycopg

        with psycopg.connect(self.url) as connection:
            return connection.execute(sql).fetchone()[0]


def produce(insert_all, *arguments):
    """Runs the producers in two processes; seconds from their common start to the last commit."""
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(PROCESSES + 1)
    processes = [
        context.Process(target=_produce, args=(insert_all, barrier, number, *arguments)) for number in range(PROCESSES)
    ]
    for process in processes:
        process.start()
    barrier.wait()
    began = time.monotonic()
    barrier.wait()
    elapsed = time.monotonic() - began
    for process in processes:
        process.join()
    return elapsed


def _produce(insert_all, barrier, number, url, jobs):
    share = jobs[number::PROCESSES]

    async def run():
        async def ready():
            await asyncio.get_running_loop().run_in_executor(None, barrier.wait)

        await insert_all(url, share, ready)
        await ready()

    _loop(run())


def _loop(coroutine):
    import uvloop

    return uvloop.run(coroutine)


async def _each(jobs, insert):
    """As many at a time as this process has producers."""
    rest = iter(jobs)

    async def producer():
        for job in rest:
            await insert(job)

    await asyncio.gather(*(producer() for _ in range(PRODUCERS // PROCESSES)))


def pool_arguments(url):
    words = dict(word.split("=", 1) for word in url.split())
    return {"host": words["host"], "user": words["user"], "database": words["dbname"]}


# PgQ


class PgQ:
    def prepare(self, cluster):
        import psycopg

        with psycopg.connect(cluster.url, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION pgq")
            connection.execute("SELECT pgq.create_queue('jobs')")
            connection.execute("SELECT pgq.register_consumer('jobs', 'worker')")
        path = f"{cluster.folder}/pgqd.ini"
        with open(path, "w") as file:
            # Else as the package's example has it.
            file.write(
                f"[pgqd]\nlogfile = {cluster.folder}/pgqd.log\npidfile = {cluster.folder}/pgqd.pid\n"
                f"base_connstr = host={cluster.folder} user=postgres\ndatabase_list = postgres\n"
                "initial_database = postgres\n"
            )
        self.ticker = subprocess.Popen(
            ["pgqd", path], user=cluster.account, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    @staticmethod
    async def insert_all(url, jobs, ready):
        import asyncpg

        size = PRODUCERS // PROCESSES
        async with asyncpg.create_pool(**pool_arguments(url), min_size=size, max_size=size) as pool:
            await ready()
            await _each(jobs, lambda job: pool.fetchval("SELECT pgq.insert_event('jobs', 'n', $1)", job))

    def drain(self, cluster, count):
        import psycopg

        done = 0
        with psycopg.connect(cluster.url, autocommit=True) as connection:
            while done < count:
                batch = connection.execute("SELECT pgq.next_batch('jobs', 'worker')").fetchone()[0]
                if batch is None:
                    time.sleep(0.05)
                    continue
                with connection.transaction():
                    done += len(connection.execute("SELECT * FROM pgq.get_batch_events(%s)", [batch]).fetchall())
                    connection.execute("SELECT pgq.finish_batch(%s)", [batch])

    def left(self, cluster):
        """Whoever counts the events of finished batches has them all."""
        return 0

    def end(self):
        self.ticker.send_signal(signal.SIGTERM)
        self.ticker.wait()


# procrastinate


class Procrastinate:
    @staticmethod
    def app(url, size):
        import procrastinate

        app = procrastinate.App(
            connector=procrastinate.PsycopgConnector(conninfo=url, min_size=size, max_size=size)
        )

        @app.task(name="work")
        async def work(body):
            pass

        return app, work

    def prepare(self, cluster):
        async def schema():
            app, _ = self.app(cluster.url, 1)
            async with app.open_async():
                await app.schema_manager.apply_schema_async()

        _loop(schema())

    @staticmethod
    async def insert_all(url, jobs, ready):
        app, work = Procrastinate.app(url, PRODUCERS // PROCESSES)
        async with app.open_async():
            await ready()
            await _each(jobs, lambda job: work.defer_async(body=job))

    def drain(self, cluster, count):
        async def run():
            app, _ = self.app(cluster.url, 34)
            async with app.open_async():
                await app.run_worker_async(wait=False, concurrency=32, install_signal_handlers=False)

        _loop(run())

    def left(self, cluster):
        return cluster.number("SELECT count(*) FROM procrastinate_jobs WHERE status <> 'succeeded'")

    def end(self):
        pass


# pgqueuer


class PgQueuer:
    def prepare(self, cluster):
        async def schema():
            import asyncpg
            from pgqueuer.db import AsyncpgPoolDriver
            from pgqueuer.queries import Queries

            async with asyncpg.create_pool(**pool_arguments(cluster.url), min_size=2, max_size=2) as pool:
                await Queries(AsyncpgPoolDriver(pool)).install()

        _loop(schema())

    @staticmethod
    async def insert_all(url, jobs, ready):
        import asyncpg
        from pgqueuer.db import AsyncpgPoolDriver
        from pgqueuer.queries import Queries

        size = PRODUCERS // PROCESSES
        async with asyncpg.create_pool(**pool_arguments(url), min_size=size, max_size=size) as pool:
            queries = Queries(AsyncpgPoolDriver(pool))
            await ready()
            await _each(jobs, lambda job: queries.enqueue("work", job.encode()))

    def drain(self, cluster, count):
        async def run():
            import asyncpg
            from pgqueuer.db import AsyncpgPoolDriver
            from pgqueuer.qm import QueueManager
            from pgqueuer.queries import Queries
            from pgqueuer.types import QueueExecutionMode

            async with asyncpg.create_pool(**pool_arguments(cluster.url), min_size=10, max_size=10) as pool:
                manager = QueueManager(Queries(AsyncpgPoolDriver(pool)))

                @manager.entrypoint("work")
                async def work(job):
                    pass

                await manager.run(mode=QueueExecutionMode.drain, batch_size=100)

        _loop(run())

    def left(self, cluster):
        return cluster.number("SELECT count(*) FROM pgqueuer")

    def end(self):
        pass


PEERS = {"pgq": PgQ, "procrastinate": Procrastinate, "pgqueuer": PgQueuer}


def measure_peer(name, jobs):
    peer, cluster = PEERS[name](), Cluster()
    try:
        peer.prepare(cluster)
        count = len(jobs)
        writes, cpu = cluster.writes(), cluster.cpu()
        inserted = produce(peer.insert_all, cluster.url, jobs)
        insert_cpu = cluster.cpu() - cpu
        mid_writes, cpu = cluster.writes(), cluster.cpu()
        began = time.monotonic()
        peer.drain(cluster, count)
        drained = time.monotonic() - began
        if left := peer.left(cluster):
            sys.exit(f"{name}: {left} jobs were not done")
        drain_cpu = cluster.cpu() - cpu
        last = cluster.writes()
        return {
            "inserts_per_second": count / inserted,
            "drained_per_second": count / drained,
            "insert_cpu": insert_cpu / count * 1e6,
            "drain_cpu": drain_cpu / count * 1e6,
            "wal_bytes": (last[0] - writes[0]) / count,
            "dead_tuples": (last[1] - writes[1]) / count,
        }
    finally:
        peer.end()
        cluster.stop()


def measure_entitled(benchmarks, file, count):
    def run(scenario):
        command = [benchmarks, scenario, "--count", str(count), "--bodies", file, "--json"]
        return json.loads(subprocess.check_output(command, text=True))

    ingest, drain = run("ingest"), run("drain")
    return {
        "inserts_per_second": ingest["accepted_per_second"],
        "drained_per_second": drain["applied_per_second"],
        "insert_cpu": ingest["postgres_cpu"],
        "drain_cpu": drain["postgres_cpu"],
        "wal_bytes": ingest["wal_bytes"] + drain["wal_bytes"],
        "dead_tuples": ingest["dead_tuples"] + drain["dead_tuples"],
    }


def table(results, jobs, runs):
    lines = [
        f"{jobs:,} jobs of 18 KB, 64 producers, medians of {runs}; {os.cpu_count()} cores with everything on them; "
        f"load at the end {os.getloadavg()[0]:.1f}",
        "",
        "| | durable inserts/s | drained/s | Postgres CPU, insert + drain | WAL | dead tuples | how | what it gives |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, figures in results.items():
        lines.append(
            f"| {name} | {figures['inserts_per_second']:,.0f} | {figures['drained_per_second']:,.0f} "
            f"| {figures['insert_cpu']:,.0f} + {figures['drain_cpu']:,.0f} µs | {figures['wal_bytes'] / 1000:.1f} KB "
            f"| {figures['dead_tuples']:.1f} | {METHOD[name]} | {GIVES[name]} |"
        )
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(prog="deploy/bench-peers", description=__doc__.split("\n")[0])
    parser.add_argument("--jobs", type=int, default=5000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default="entitled,pgq,procrastinate,pgqueuer")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--folder", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--benchmarks", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = options.only.split(",")
    logging.getLogger("procrastinate").setLevel(logging.ERROR)
    if unknown := set(names) - set(GIVES):
        parser.error(f"no such queue: {', '.join(sorted(unknown))}")
    file = f"{options.folder}/bodies"
    # Also signs what is not signed yet.
    subprocess.run(
        [options.benchmarks, "verify", "--count", str(options.jobs), "--bodies", file], check=True,
        stdout=subprocess.DEVNULL,
    )
    jobs = bodies(file, options.jobs)
    results = {}
    for name in names:
        measured = []
        for number in range(options.runs):
            print(f"{name}, run {number + 1}", file=sys.stderr)
            measured.append(
                measure_entitled(options.benchmarks, file, options.jobs)
                if name == "entitled"
                else measure_peer(name, jobs)
            )
        results[name] = {key: statistics.median(run[key] for run in measured) for key in measured[0]}
    print(json.dumps(results) if options.json else table(results, options.jobs, options.runs))


if __name__ == "__main__":
    main()
