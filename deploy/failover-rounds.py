"""Rounds of failovers under load: see deploy/failover. Everything is private to a folder and to namespaces."""

import argparse
import concurrent.futures
import glob
import http.client
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

NODES = {"db1": "10.77.0.11", "db2": "10.77.0.12", "db3": "10.77.0.13"}
PASSWORDS = {"change-me-1": "superuser", "change-me-2": "replicator", "change-me-3": "rewinder"}
ROLES = ("ingest", "worker", "api")
# Of each host: which way its processes reach the primary.
WAYS = {
    "a": "10.77.0.11:5432,10.77.0.12:5432,10.77.0.13:5432",
    "b": "127.0.0.1:5000",
    "c": "127.0.0.1:6432",
}
WAY_NAMES = {"a": "several hosts in the URL", "b": "HAProxy", "c": "PgBouncer, HAProxy"}
FAULTS = ("kill", "freeze", "cut", "switchover", "postgres")
# Apple repeats after hours; here after seconds.
REPEATS = "1s,1s,2s,2s,4s,4s,8s,8s,15s,15s,30s"
SUBSCRIBERS_OF_A_PLAY = 60


def run(*words, **more):
    done = subprocess.run(words, capture_output=True, text=True, **more)
    if done.returncode:
        raise SystemExit(f"failover: {' '.join(words)}: exit status {done.returncode}: {done.stderr or done.stdout}")
    return done.stdout


def wait(what, condition, patience=60.0, pause=0.1):
    end = time.monotonic() + patience
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(pause)
    raise SystemExit(f"failover: {what} did not happen within {patience:.0f} s")


def http_status(address, path, timeout=1.0, headers=None):
    """0: no answer."""
    host, port = address.rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=timeout)
    try:
        connection.request("GET", path, headers=headers or {})
        return connection.getresponse().status
    except OSError:
        return 0
    except http.client.HTTPException:
        return 0
    finally:
        connection.close()


class Cluster:
    """Patroni, Postgres and etcd of three hosts, each in a network namespace that can be cut off."""

    def __init__(self, folder, examples):
        self.folder = folder
        self.patroni, self.etcd, self.logs = {}, {}, []
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "bridge0", "type", "bridge")
        run("ip", "addr", "add", "10.77.0.1/24", "dev", "bridge0")
        run("ip", "link", "set", "bridge0", "up")
        os.makedirs("/run/netns", exist_ok=True)
        run("mount", "-t", "tmpfs", "tmpfs", "/run/netns")
        example = open(f"{examples}/patroni.example.yml", encoding="utf-8").read()
        for name, address in NODES.items():
            run("ip", "netns", "add", name)
            run("ip", "link", "add", f"to-{name}", "type", "veth", "peer", "name", "eth0", "netns", name)
            run("ip", "link", "set", f"to-{name}", "master", "bridge0", "up")
            self.inside(name, "ip", "addr", "add", f"{address}/24", "dev", "eth0")
            self.inside(name, "ip", "link", "set", "eth0", "up")
            self.inside(name, "ip", "link", "set", "lo", "up")
            home = f"{folder}/{name}"
            os.makedirs(home)
            text = example.replace("name: db1", f"name: {name}").replace("/var/lib/postgresql/15/entitled", f"{home}/data")
            # The addresses of this host, but not the list of all of them.
            text = re.sub(r"(listen|connect_address): 10\.77\.0\.11", rf"\1: {address}", text)
            for example_password, password in PASSWORDS.items():
                text = text.replace(example_password, password)
            # All are on one host here, where a socket has one name.
            text = text.replace("  pg_hba:", f"  parameters:\n    unix_socket_directories: {home}\n  pg_hba:", 1)
            text = text.replace("watchdog:\n  mode: automatic", "watchdog:\n  mode: off")
            with open(f"{home}/patroni.yml", "w", encoding="utf-8") as file:
                file.write(text)
            shutil.chown(home, "postgres", "postgres")
            os.chmod(home, 0o750)
        for name in NODES:
            self.start_etcd(name)
        for name in NODES:
            self.start_patroni(name)
        wait("the first primary", self.primary, 120)
        wait("the standbys", lambda: self.is_whole(), 120)

    def inside(self, name, *words):
        return run("ip", "netns", "exec", name, *words)

    def spawn(self, name, log, *words, **more):
        file = open(f"{self.folder}/{log}.log", "ab")
        self.logs.append(file)
        return subprocess.Popen(
            ("ip", "netns", "exec", name, "setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", *words),
            stdout=file, stderr=file, cwd=f"{self.folder}/{name}", env=os.environ | {"HOME": f"{self.folder}/{name}"}, **more,
        )

    def start_etcd(self, name):
        address = NODES[name]
        self.etcd[name] = self.spawn(
            name, f"etcd-{name}", "etcd", "--name", name, "--data-dir", f"{self.folder}/{name}/etcd",
            "--listen-client-urls", f"http://{address}:2379", "--advertise-client-urls", f"http://{address}:2379",
            "--listen-peer-urls", f"http://{address}:2380", "--initial-advertise-peer-urls", f"http://{address}:2380",
            "--initial-cluster", ",".join(f"{n}=http://{a}:2380" for n, a in NODES.items()),
            "--initial-cluster-state", "new", "--logger", "zap",
        )

    def start_patroni(self, name):
        self.patroni[name] = self.spawn(name, f"patroni-{name}", "patroni", f"{self.folder}/{name}/patroni.yml")

    def primaries(self):
        """Those that say so themselves and hold the key of the leader."""
        return [name for name, address in NODES.items() if http_status(f"{address}:8008", "/primary") == 200]

    def primary(self):
        found = self.primaries()
        return found[0] if len(found) == 1 else None

    def is_whole(self):
        """One primary, two standbys, one of them synchronous."""
        replicas = [n for n, a in NODES.items() if http_status(f"{a}:8008", "/replica") == 200]
        synchronous = [n for n in replicas if http_status(f"{NODES[n]}:8008", "/synchronous") == 200]
        return self.primary() is not None and len(replicas) == 2 and len(synchronous) == 1

    def timeline(self):
        name = self.primary()
        with urllib.request.urlopen(f"http://{NODES[name]}:8008/patroni", timeout=3) as answer:
            return json.load(answer)["timeline"]

    def sql(self, statement, database="entitled", patience=30):
        """As the superuser, at the primary; rows as lists of text."""
        end = time.monotonic() + patience
        while True:
            name = self.primary()
            if name:
                done = subprocess.run(
                    ("psql", "-XqAt", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-d",
                     f"postgresql://postgres:superuser@{NODES[name]}:5432/{database}", "-c", statement),
                    capture_output=True, text=True)
                if done.returncode == 0:
                    return [line.split("\t") for line in done.stdout.splitlines()]
                if time.monotonic() > end:
                    raise SystemExit(f"failover: {statement}: {done.stderr}")
            elif time.monotonic() > end:
                raise SystemExit("failover: there is no primary")
            time.sleep(0.5)

    def pids(self, name):
        return [int(word) for word in run("ip", "netns", "pids", name).split()]

    def signal_all(self, name, number, but=()):
        for pid in self.pids(name):
            if pid in but:
                continue
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def hurt(self, fault, name):
        if fault == "kill":  # the power fails
            self.signal_all(name, signal.SIGKILL)
        elif fault == "freeze":
            self.signal_all(name, signal.SIGSTOP)
        elif fault == "cut":
            run("ip", "link", "set", f"to-{name}", "down")
        elif fault == "postgres":
            with open(f"{self.folder}/{name}/data/postmaster.pid", encoding="utf-8") as file:
                os.kill(int(file.readline()), signal.SIGKILL)
        elif fault == "switchover":
            candidates = [n for n, a in NODES.items() if http_status(f"{a}:8008", "/synchronous") == 200]
            body = json.dumps({"leader": name, "candidate": candidates[0]}).encode()
            request = urllib.request.Request(f"http://{NODES[name]}:8008/switchover", data=body, method="POST")
            for left in range(30, -1, -1):
                try:
                    with urllib.request.urlopen(request, timeout=30):
                        return
                except urllib.error.HTTPError as error:
                    # 412: what Patroni has written of its members is older than what they answer themselves.
                    if error.code != 412 or left == 0:
                        raise
                    time.sleep(1)

    def mend(self, fault, name):
        if fault == "kill":
            for process in (self.patroni[name], self.etcd[name]):
                process.wait()
            self.start_etcd(name)
            self.start_patroni(name)
        elif fault == "freeze":
            self.signal_all(name, signal.SIGCONT)
        elif fault == "cut":
            run("ip", "link", "set", f"to-{name}", "up")

    def become_whole(self):
        """Waits for one primary and two standbys. As an operator would, makes a standby anew that does not come back.

        For longer than Patroni's loop: a primary that has just come back takes the synchronous standby from the list for a
        moment, and dies as the only server then that may be the primary again.
        """
        began, made_anew, since = time.monotonic(), {}, None
        while True:
            self.watch_patroni()
            waited = time.monotonic() - began
            if not self.is_whole():
                since = None
            elif since is None:
                since = time.monotonic()
            elif time.monotonic() - since > 7:
                return
            else:
                time.sleep(0.5)
                continue
            if waited > 300:
                raise SystemExit("failover: the cluster is not whole after 300 s")
            for name, address in NODES.items():
                is_up = any(http_status(f"{address}:8008", path) == 200 for path in ("/primary", "/replica"))
                if not is_up and waited > 60 and waited - made_anew.get(name, 0) > 60:
                    made_anew[name] = waited
                    print(f"       {name} did not come back by itself: patronictl reinit", flush=True)
                    body = json.dumps({"force": True}).encode()
                    request = urllib.request.Request(f"http://{address}:8008/reinitialize", data=body, method="POST")
                    try:
                        urllib.request.urlopen(request, timeout=10).close()
                    except OSError as error:
                        print(f"       {error}", flush=True)
            time.sleep(0.5)

    def watch_patroni(self):
        """Patroni ends itself where it cannot keep its host in order; systemd starts it again, and so does this."""
        for name, process in list(self.patroni.items()):
            if process.poll() is not None:
                self.start_patroni(name)


class Pool:
    """HAProxy and PgBouncer, as the examples configure them."""

    def __init__(self, folder, examples):
        self.folder = folder
        text = open(f"{examples}/haproxy-postgres.cfg.example", encoding="utf-8").read()
        self.start("haproxy", text, "haproxy.cfg", "haproxy", "-db", "-f")
        users = f"{folder}/userlist.txt"
        with open(users, "w", encoding="utf-8") as file:
            for user in ("entitled", *(f"entitled_{role}" for role in ROLES)):
                file.write(f'"{user}" "{user}"\n')
        text = open(f"{examples}/pgbouncer.ini.example", encoding="utf-8").read()
        self.start(
            "pgbouncer", text.replace("/etc/pgbouncer/userlist.txt", users), "pgbouncer.ini",
            "setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "pgbouncer")

    def start(self, name, text, file, *words):
        path = f"{self.folder}/{file}"
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        log = open(f"{self.folder}/{name}.log", "ab")
        subprocess.Popen((*words, path), stdout=log, stderr=log)


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
            "trust": {"root_sha256": [], "root_files": [f"{site.folder}/pki/root.pem"]},
            "apps": [{"id": "demo", "bundle_id": "com.example.app", "apple_app_id": 1234567890, "environments": ["Sandbox"]}],
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
    def __init__(self, folder, programs, database="entitled"):
        self.folder, self.programs, self.database = folder, programs, database
        os.makedirs(folder, exist_ok=True)
        self.key = "dGhpcyBpcyBub3QgYSBzZWNyZXQgb2YgYW55Ym9keSE="
        if not os.path.exists(f"{folder}/pki"):
            run(f"{programs}/storesim", "pki", "--out", f"{folder}/pki")


class Player:
    """Sends lives to one ingest, one play after another, and keeps what was acknowledged, and when."""

    def __init__(self, site, host, rate, seed):
        self.site, self.host, self.rate, self.seed = site, host, rate, seed
        self.acknowledged, self.times, self.failed, self.seeds = set(), [], 0, []
        self.latest = 0.0
        self.is_over = False
        self.thread = threading.Thread(target=self.play, daemon=True)
        self.thread.start()

    def play(self):
        while not self.is_over:
            self.seeds.append(self.seed)
            process = subprocess.Popen(
                play_words(self.site, self.host.ports["ingest"], self.seed) + [
                    "--rate", str(self.rate), "--connections", "16", "--retry-schedule", REPEATS, "--timeout", "12s",
                    "--in-order", "--ahead", "1000", "--lines", "--json"],
                stdout=subprocess.PIPE, text=True)
            for line in process.stdout:
                try:
                    answer = json.loads(line)
                except ValueError:  # the last line of a player that was stopped
                    continue
                if "uuid" not in answer:
                    continue
                if answer["accepted"]:
                    self.acknowledged.add(answer["uuid"].lower())
                    self.times.append(time.monotonic())
                else:
                    self.failed += 1
            process.wait()
            self.seed += 1

    def stop(self):
        self.is_over = True
        self.thread.join()


# The lives lie ahead and come in their order. In the past a purchase would end while its renewal waits to be repeated, and
# what comes late would be told differently: the events would depend on when the primary was away.
AT = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 600 * 86400))


def play_words(site, port, seed):
    return [f"{site.programs}/storesim", "play", "--pki", f"{site.folder}/pki", "--to", f"http://127.0.0.1:{port}/apple/notifications",
            "--subscribers", str(SUBSCRIBERS_OF_A_PLAY), "--seed", str(seed), "--at", AT]


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


def prepare(cluster, database):
    if database == "entitled":
        cluster.sql("CREATE ROLE entitled LOGIN CREATEROLE PASSWORD 'entitled'", "postgres")
    cluster.sql(f"CREATE DATABASE {database} OWNER entitled", "postgres")
    # A standby that has not got that far says that there is none, and libpq asks no further.
    wait("that the standbys have it", lambda: all(
        subprocess.run(("psql", "-XqAt", "-d", f"postgresql://postgres:superuser@{address}:5432/{database}", "-c", "SELECT 1"),
                       capture_output=True).returncode == 0 for address in NODES.values()))


def main():
    parser = argparse.ArgumentParser(prog="deploy/failover")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--rate", type=int, default=100, help="notifications per second, over three hosts")
    parser.add_argument("--faults", default=",".join(FAULTS), help=f"of {', '.join(FAULTS)}, in turns")
    parser.add_argument("--keep", action="store_true", help="leave the folder with logs and databases")
    parser.add_argument("--programs", required=True)
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="entitled-failover.", dir="/tmp")
    os.chmod(folder, 0o755)
    status = 1
    try:
        status = rounds(options, folder)
    finally:
        if options.keep or status:
            print(f"logs: {folder}")
        if not options.keep and not status:
            shutil.rmtree(folder, ignore_errors=True)
    # Threads that wait for processes are not waited for.
    sys.stdout.flush()
    os._exit(status)


def rounds(options, folder):
    examples = os.path.dirname(os.path.abspath(__file__))
    run("mount", "--make-rprivate", "/")
    site = Site(f"{folder}", options.programs)
    cluster = Cluster(folder, examples)
    Pool(folder, examples)
    prepare(cluster, "entitled")
    hosts = [Host(name, site, way, 7000 + 100 * number) for number, (name, way) in enumerate(WAYS.items())]
    hosts[0].command("migrate")
    for role in ROLES:
        cluster.sql(f"ALTER ROLE entitled_{role} LOGIN PASSWORD 'entitled_{role}'")
    secret = json.loads(hosts[0].command("endpoints", "add", "http://127.0.0.1:6999/", "--json"))["secret"]
    key = re.search(r"^key: (\S+)$", hosts[0].command("keys", "create", "--kind", "secret", "--name", "probe"), re.M).group(1)
    receiver = Receiver(site, 6999, secret)
    for host in hosts:
        host.start()
    most = {}

    def count_connections():
        for name, count in cluster.sql(
            "SELECT usename, count(*) FROM pg_stat_activity WHERE usename LIKE 'entitled%' GROUP BY 1 ORDER BY 1"):
            most[name] = max(most.get(name, 0), int(count))

    count_connections()
    print("connections of three hosts at rest: " + ", ".join(f"{name} {count}" for name, count in most.items()), flush=True)
    probes = {
        host.name: Prober(f"127.0.0.1:{host.ports['api']}", "/v1/subscribers/probe", {"Authorization": f"Bearer {key}"})
        for host in hosts
    }
    players = [Player(site, host, options.rate / len(hosts), 1000 * (number + 1)) for number, host in enumerate(hosts)]
    wait("the first acknowledgement", lambda: all(player.times for player in players))
    faults = options.faults.split(",")
    results, problems = [], []
    print(f"{'round':>5}  {'fault':<10}  {'primary':<14}  promoted  ingest a / b / c        api a / b / c           delivered", flush=True)
    for number in range(options.rounds):
        fault = faults[number % len(faults)]
        cluster.become_whole()
        count_connections()
        former, timeline = cluster.primary(), cluster.timeline()
        time.sleep(3)  # of calm, so that the load is everywhere
        began = time.monotonic()
        cluster.hurt(fault, former)
        # Where the fault is between the key's renewals, the former primary may go on for a while.
        if fault == "postgres":
            # Where it is up again at once, Patroni may not have seen that it was away.
            while http_status(f"{NODES[former]}:8008", "/primary") == 200 and time.monotonic() - began < 5:
                time.sleep(0.1)
            new = wait("a primary", lambda: time.monotonic() - began > 1 and cluster.primary(), 120)
        else:
            new = wait("another primary", lambda: (cluster.primary() or former) != former and cluster.primary(), 120)
        promoted = time.monotonic()
        ways = {}

        def recovered(times):
            return wait("that processes go on", lambda: first_after(times, promoted), 60, 0.05) - promoted

        with concurrent.futures.ThreadPoolExecutor() as pool:
            ingest = list(pool.map(lambda player: recovered(player.times), players))
            api = list(pool.map(lambda host: recovered(probes[host.name].good), hosts))
            delivered = recovered(receiver.times)
        if fault in ("freeze", "cut"):
            time.sleep(max(0, 25 - (time.monotonic() - began)))
        cluster.mend(fault, former)
        for host in hosts:
            if host.ended():
                problems.append(f"round {number + 1}: {', '.join(host.ended())} of host {host.name} ended")
                host.start()
        results.append((fault, promoted - began, ingest, api, delivered))
        show = lambda values: " / ".join(f"{value:5.1f}" for value in values)
        print(f"{number + 1:>5}  {fault:<10}  {former} → {new:<7}  {promoted - began:6.1f} s  {show(ingest)} s  {show(api)} s  {delivered:5.1f} s", flush=True)
    for player in players:
        player.stop()
    settle(cluster, "entitled")
    acknowledged = set().union(*(player.acknowledged for player in players))
    stored = {row[0].lower() for row in cluster.sql("SELECT uuid FROM entitled.notification")}
    held = int(cluster.sql("SELECT count(*) FROM entitled.held_notification")[0][0])
    dead = int(cluster.sql("SELECT count(*) FROM entitled.delivery WHERE state NOT IN (1)")[0][0])
    found = events(cluster, "entitled")
    differences = subprocess.run(
        (f"{site.programs}/entitled", "rebuild", "--dry-run", "--config", hosts[0].config), capture_output=True, text=True)
    undelivered = {event for event in found if event not in receiver.ids}
    refused = sum(
        line.count(b"refused") for path in glob.glob(f"{folder}/host-*/*.log") for line in [open(path, "rb").read()])
    for host in hosts:
        host.stop()
    # The same lives once more, in calm, into another database.
    prepare(cluster, "calm")
    calm_site = Site(folder, options.programs, "calm")
    calm = Host("calm", calm_site, WAYS["a"], 7700)
    calm.command("migrate")
    # By the same receiver, whose counts of before are those that are told.
    sent_again, bad = receiver.count - len(receiver.ids), receiver.bad
    calm.command("endpoints", "add", "http://127.0.0.1:6999/", "--secret", secret, "--json")
    calm.start()
    for player in players:
        for seed in player.seeds:
            run(*play_words(calm_site, calm.ports["ingest"], seed), "--connections", "1", "--quiet")
    settle(cluster, "calm")
    calm.stop()
    expected = events(cluster, "calm")
    missing, surplus = expected.keys() - found.keys(), found.keys() - expected.keys()
    lost = acknowledged - stored
    every = [value for _, _, ingest, api, delivered in results for value in (*ingest, *api, delivered)]
    print()
    print(f"acknowledged {len(acknowledged)}, refused and repeated {sum(player.failed for player in players)}, lost {len(lost)}; held {held}; not delivered {dead}")
    print(f"events {len(found)}, missing {len(missing)}, surplus {len(surplus)}, not received {len(undelivered)}, sent more than once {sent_again}, bad signatures {bad}")
    print(f"rebuild --dry-run: exit status {differences.returncode}")
    print(f"API: {', '.join(f'{way}: {dict(sorted(probe.answers.items()))}, slowest {probe.slowest:.1f} s' for way, probe in probes.items())}")
    print(f"lines about refused databases: {refused}")
    print("most connections of three hosts: " + ", ".join(f"{name} {count}" for name, count in most.items()))
    for number, host in enumerate(hosts):
        values = [value for _, _, ingest, api, _ in results for value in (ingest[number], api[number])]
        print(f"after the promotion, {WAY_NAMES[host.name]}: median {statistics.median(values):.1f} s, worst {max(values):.1f} s")
    print(f"after the promotion, webhooks: median {statistics.median(r[4] for r in results):.1f} s, worst {max(r[4] for r in results):.1f} s")
    print(f"from the fault to the promotion: median {statistics.median(r[1] for r in results):.1f} s, worst {max(r[1] for r in results):.1f} s")
    if missing:
        problems.append(f"events missing: {sorted((expected[e], e) for e in missing)[:5]}")
    if surplus:
        problems.append(f"events that the calm run does not have: {sorted((found[e], e) for e in surplus)[:5]}")
    if lost:
        problems.append(f"acknowledged and not there: {sorted(lost)[:5]}")
    if held or dead or undelivered or bad or differences.returncode:
        problems.append("something is held, not delivered, badly signed or different: see above")
    if max(every) > 10:
        problems.append(f"processes needed {max(every):.1f} s after a promotion; 10 s are allowed")
    for problem in problems:
        print(f"FAILED: {problem}")
    return 1 if problems else 0


main()
