"""Three Postgres under Patroni and etcd on networks of their own, HAProxy and PgBouncer: see deploy/failover."""

import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request

NODES = {"db1": "10.77.0.11", "db2": "10.77.0.12", "db3": "10.77.0.13"}
PASSWORDS = {"change-me-1": "superuser", "change-me-2": "replicator", "change-me-3": "rewinder"}
ROLES = ("ingest", "worker", "api")
EXAMPLES = os.path.dirname(os.path.abspath(__file__))


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

    def __init__(self, folder, is_synchronous=True):
        self.folder, self.is_synchronous = folder, is_synchronous
        self.patroni, self.etcd, self.logs = {}, {}, []
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "bridge0", "type", "bridge")
        run("ip", "addr", "add", "10.77.0.1/24", "dev", "bridge0")
        run("ip", "link", "set", "bridge0", "up")
        os.makedirs("/run/netns", exist_ok=True)
        run("mount", "-t", "tmpfs", "tmpfs", "/run/netns")
        example = open(f"{EXAMPLES}/patroni.example.yml", encoding="utf-8").read()
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
            if not is_synchronous:
                # A standby may be as far behind as it is held back here.
                text = text.replace(
                    "    synchronous_mode: true", "    synchronous_mode: false\n    maximum_lag_on_failover: 1073741824")
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
        """One primary, two standbys, one of them synchronous where one has to be."""
        replicas = [n for n, a in NODES.items() if http_status(f"{a}:8008", "/replica") == 200]
        synchronous = [n for n in replicas if http_status(f"{NODES[n]}:8008", "/synchronous") == 200]
        return self.primary() is not None and len(replicas) == 2 and len(synchronous) == int(self.is_synchronous)

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

    def hold_back(self, name):
        """The standbys get nothing of what this primary commits from now on."""
        for pid in self.pids(name):
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if b"walsender" in file.read():
                    os.kill(pid, signal.SIGSTOP)

    def hurt(self, fault, name):
        if fault == "kill":  # the power fails
            self.signal_all(name, signal.SIGKILL)
        elif fault == "freeze":
            self.signal_all(name, signal.SIGSTOP)
        elif fault == "cut":
            run("ip", "link", "set", f"to-{name}", "down")
            # What was held back goes nowhere now, and Postgres has to be able to end.
            self.signal_all(name, signal.SIGCONT)
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

    def __init__(self, folder):
        self.folder = folder
        text = open(f"{EXAMPLES}/haproxy-postgres.cfg.example", encoding="utf-8").read()
        self.start("haproxy", text, "haproxy.cfg", "haproxy", "-db", "-f")
        users = f"{folder}/userlist.txt"
        with open(users, "w", encoding="utf-8") as file:
            for user in ("entitled", *(f"entitled_{role}" for role in ROLES)):
                file.write(f'"{user}" "{user}"\n')
        text = open(f"{EXAMPLES}/pgbouncer.ini.example", encoding="utf-8").read()
        self.start(
            "pgbouncer", text.replace("/etc/pgbouncer/userlist.txt", users), "pgbouncer.ini",
            "setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "pgbouncer")

    def start(self, name, text, file, *words):
        path = f"{self.folder}/{file}"
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        log = open(f"{self.folder}/{name}.log", "ab")
        subprocess.Popen((*words, path), stdout=log, stderr=log)
