"""Processes of entitled on three hosts, the notifications that they get, and the consumer of their webhooks: see
deploy/failover."""

import json
import os
import re
import subprocess
import threading
import time

from failover_cluster import NODES, ROLES, http_status, run, wait

# Of each host: which way its processes reach the primary.
WAYS = {
    "a": "10.77.0.11:5432,10.77.0.12:5432,10.77.0.13:5432",
    "b": "127.0.0.1:5000",
    "c": "127.0.0.1:6432",
}
WAY_NAMES = {"a": "several hosts in the URL", "b": "HAProxy", "c": "PgBouncer, HAProxy"}
# Apple repeats after hours; here after seconds.
REPEATS = "1s,1s,2s,2s,4s,4s,8s,8s,15s,15s,30s"


class Host:
    """ingest, worker and api, with a configuration and a state directory of their own."""

    def __init__(self, name, site, way, base):
        self.name, self.site = name, site
        self.folder = f"{site.folder}/host-{name}"
        os.makedirs(self.folder)
        self.ports = {role: base + number for number, role in enumerate(ROLES)}
        self.admin = {role: base + 10 + number for number, role in enumerate(ROLES)}
        self.processes = {}
        url = lambda user: f"postgres://{user}:{user}@{way}/{site.database}"
        self.config = f"{self.folder}/entitled.json5"
        self.settings = {
            "state_dir": f"{self.folder}/state",
            "database": {"url": url("entitled"), **{f"{role}_url": url(f"entitled_{role}") for role in ROLES}},
            "trust": {"root_sha256": [], "root_files": site.roots},
            "apps": site.apps,
            "entitlements": {"pro": ["pro_monthly", "pro_yearly", "pro_lifetime"]},
            "webhooks": {
                "retry_schedule": ["1s", "2s", "4s", "8s", "16s"], "allow_private_networks": ["127.0.0.0/8"],
                "secret_keys": [site.key],
            },
            "ingest": {"listen": f"127.0.0.1:{self.ports['ingest']}"},
            "api": {"listen": f"127.0.0.1:{self.ports['api']}"},
        }
        with open(self.config, "w", encoding="utf-8") as file:
            json.dump(self.settings, file)

    def command(self, *words):
        return run(f"{self.site.programs}/entitled", *words, "--config", self.config)

    def start(self):
        for role in ROLES:
            log = open(f"{self.folder}/{role}.log", "ab")
            self.processes[role] = subprocess.Popen(
                (f"{self.site.programs}/entitled", role, "--config", self.config), stdout=log, stderr=log,
                env=os.environ | {"ENTITLED_ADMIN_LISTEN": f"127.0.0.1:{self.admin[role]}"},
            )
        for role in ROLES:
            wait(f"{role} of host {self.name}", lambda role=role: http_status(f"127.0.0.1:{self.admin[role]}", "/readyz") == 200)

    def stop(self):
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            process.wait()

    def ended(self):
        return [role for role, process in self.processes.items() if process.poll() is not None]


class Site:
    """What all hosts have in common: the apps that they serve, and the roots that they trust."""

    def __init__(self, folder, programs, database="entitled", apps=None, roots=()):
        self.folder, self.programs, self.database = folder, programs, database
        self.apps = apps or [
            {"id": "demo", "bundle_id": "com.example.app", "apple_app_id": 1234567890, "environments": ["Sandbox"]}]
        self.roots = [f"{folder}/pki/root.pem", *roots]
        os.makedirs(folder, exist_ok=True)
        self.key = "dGhpcyBpcyBub3QgYSBzZWNyZXQgb2YgYW55Ym9keSE="
        if not os.path.exists(f"{folder}/pki"):
            run(f"{programs}/storesim", "pki", "--out", f"{folder}/pki")


class Player:
    """Sends lives to an ingest, one play after another, and keeps what was acknowledged, and when."""

    def __init__(self, play, rate, seed):
        """`play` makes the command of the play with a seed."""
        self.command, self.rate, self.seed = play, rate, seed
        # Of each notification: when it was signed, in ms.
        self.acknowledged, self.times, self.failed, self.seeds = {}, [], 0, []
        self.is_over, self.process = False, None
        self.thread = threading.Thread(target=self.play, daemon=True)
        self.thread.start()

    def play(self):
        while not self.is_over:
            self.seeds.append(self.seed)
            self.process = subprocess.Popen(
                self.command(self.seed) + [
                    "--rate", str(self.rate), "--connections", "16", "--retry-schedule", REPEATS, "--timeout", "12s",
                    "--in-order", "--ahead", "1000", "--lines", "--json"],
                stdout=subprocess.PIPE, text=True)
            for line in self.process.stdout:
                try:
                    answer = json.loads(line)
                except ValueError:  # the last line of a player that was stopped
                    continue
                if "uuid" not in answer:
                    continue
                if answer["accepted"]:
                    self.acknowledged[answer["uuid"].lower()] = answer["signed_ms"]
                    self.times.append(time.monotonic())
                else:
                    self.failed += 1
            self.process.wait()
            self.seed += 1

    def stop(self):
        """When the play that goes on has ended."""
        self.is_over = True
        self.thread.join()

    def end(self):
        """At once."""
        self.is_over = True
        self.process.kill()
        self.thread.join()


class Prober:
    """Asks an address again and again, and keeps when it answered 200."""

    def __init__(self, address, path, headers=None):
        self.good, self.answers, self.is_over = [], {}, False
        self.slowest = 0.0

        def ask():
            while not self.is_over:
                began = time.monotonic()
                status = http_status(address, path, timeout=15, headers=headers)
                now = time.monotonic()
                self.answers[status] = self.answers.get(status, 0) + 1
                self.slowest = max(self.slowest, now - began)
                if status == 200:
                    self.good.append(now)
                time.sleep(0.1)

        self.thread = threading.Thread(target=ask, daemon=True)
        self.thread.start()


class Receiver:
    """The consumer: storesim, whose lines are kept."""

    def __init__(self, site, port, secret):
        self.times, self.ids, self.bad, self.count = [], set(), 0, 0
        path = f"{site.folder}/consumer.secret"
        with open(path, "w", encoding="utf-8") as file:
            file.write(secret + "\n")
        self.process = subprocess.Popen(
            [f"{site.programs}/storesim", "receive", "--listen", f"127.0.0.1:{port}", "--secret-file", path, "--json"],
            stdout=subprocess.PIPE, text=True)

        def read():
            for line in self.process.stdout:
                delivery = json.loads(line)
                if "id" not in delivery:
                    continue
                self.count += 1
                self.ids.add(delivery["id"].lower())
                self.bad += delivery["signature"] != "ok"
                self.times.append(time.monotonic())

        threading.Thread(target=read, daemon=True).start()


def first_after(times, moment):
    """Of a list that grows; None: none yet."""
    for time_of_one in reversed(times):
        if time_of_one < moment:
            break
    later = [t for t in times[-20000:] if t >= moment]
    return min(later) if later else None


def settle(cluster, database, patience=300):
    """As long as there is less to do than before: a busy host may take its time."""
    least, since = None, time.monotonic()
    while least != 0:
        cluster.watch_patroni()
        pending = int(cluster.sql("SELECT count(*) FROM entitled.pending", database)[0][0])
        due = int(cluster.sql("SELECT count(*) FROM entitled.delivery WHERE state IN (0, 4)", database)[0][0])
        if least is None or pending + due < least:
            least, since = pending + due, time.monotonic()
        if time.monotonic() - since > patience:
            raise SystemExit(f"failover: {pending} notifications are not applied and {due} webhooks not delivered for {patience} s")
        time.sleep(1)


def events(cluster, database):
    return {
        row[0]: row[1]
        for row in cluster.sql("SELECT id, type FROM entitled.event WHERE original_transaction_id IS NOT NULL", database)
    }


def stored(cluster, database="entitled"):
    """The UUIDs of all notifications that the primary has."""
    return {row[0].lower() for row in cluster.sql("SELECT uuid FROM entitled.notification", database)}


def held_and_undelivered(cluster):
    held = int(cluster.sql("SELECT count(*) FROM entitled.held_notification")[0][0])
    return held, int(cluster.sql("SELECT count(*) FROM entitled.delivery WHERE state NOT IN (1)")[0][0])


def prepare(cluster, database):
    if database == "entitled":
        cluster.sql("CREATE ROLE entitled LOGIN CREATEROLE PASSWORD 'entitled'", "postgres")
    cluster.sql(f"CREATE DATABASE {database} OWNER entitled", "postgres")
    # A standby that has not got that far says that there is none, and libpq asks no further.
    wait("that the standbys have it", lambda: all(
        subprocess.run(("psql", "-XqAt", "-d", f"postgresql://postgres:superuser@{address}:5432/{database}", "-c", "SELECT 1"),
                       capture_output=True).returncode == 0 for address in NODES.values()))


class Installation:
    """Three hosts with an endpoint, whose consumer listens, and a key of the API."""

    def __init__(self, cluster, site):
        prepare(cluster, site.database)
        self.hosts = [Host(name, site, way, 7000 + 100 * number) for number, (name, way) in enumerate(WAYS.items())]
        first = self.hosts[0]
        first.command("migrate")
        for role in ROLES:
            cluster.sql(f"ALTER ROLE entitled_{role} LOGIN PASSWORD 'entitled_{role}'")
        self.secret = json.loads(first.command("endpoints", "add", "http://127.0.0.1:6999/", "--json"))["secret"]
        self.key = re.search(r"^key: (\S+)$", first.command("keys", "create", "--kind", "secret", "--name", "probe"), re.M).group(1)
        self.receiver = Receiver(site, 6999, self.secret)
        for host in self.hosts:
            host.start()

    def rebuild_differences(self):
        """The exit status of a dry run: 0, there are none."""
        first = self.hosts[0]
        words = (f"{first.site.programs}/entitled", "rebuild", "--dry-run", "--config", first.config)
        return subprocess.run(words, capture_output=True, text=True).returncode
