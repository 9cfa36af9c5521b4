"""Failovers to a standby that is behind: what was acknowledged and is lost has to come back from Apple's history, by itself.
See deploy/failover."""

import json
import statistics
import subprocess
import time
import urllib.request

from failover_cluster import Cluster, Pool, wait
from failover_site import Installation, Player, Site, held_and_undelivered, settle, stored

SUBSCRIBERS = 800
# So many are acknowledged before the standbys get nothing more, and for so many seconds they get nothing.
BEFORE, BEHIND = 200, 3
# Of production, in ms; a day less than Apple's, as time goes on.
HISTORY = 179 * 86_400_000
PATIENCE = 90


class Apple:
    """The App Store of one app, whose history fails until it is told to be well: else it would bring in what is sent next."""

    def __init__(self, site, number, at):
        self.folder, self.site, self.seed, self.at = f"{site.folder}/apple-{number}", site, number, at
        self.bundle, self.app = f"com.example.app{number}", 1_234_567_000 + number
        self.process = subprocess.Popen(
            [f"{site.programs}/storesim", "serve", "--dir", self.folder, *self.lives(),
             "--fault", "error:100@/notifications/history", "--json"],
            stdout=subprocess.PIPE, text=True)
        self.listening = json.loads(self.process.stdout.readline())

    def lives(self):
        return ["--bundle-id", self.bundle, "--apple-app-id", str(self.app), "--environment", "Production",
                "--subscribers", str(SUBSCRIBERS), "--seed", str(self.seed), "--at", self.at]

    def configuration(self):
        return {
            "id": f"app{self.seed}", "bundle_id": self.bundle, "apple_app_id": self.app, "environments": ["Production"],
            "server_api": {
                "issuer_id": self.listening["issuer_id"], "key_id": self.listening["key_id"],
                "private_key_file": self.listening["private_key_file"], "base_url": self.listening["base_url"],
            },
        }

    def play_words(self, port):
        return [f"{self.site.programs}/storesim", "play", "--pki", self.folder,
                "--to", f"http://127.0.0.1:{port}/apple/notifications", *self.lives()]

    def become_well(self):
        request = urllib.request.Request(f"{self.listening['base_url']}/control/faults", method="DELETE")
        urllib.request.urlopen(request, timeout=5).close()


def is_in_history(signed_ms):
    return signed_ms > time.time() * 1000 - HISTORY


def rounds(options, folder):
    site = Site(folder, options.programs)
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    # An app for each round: what the history has brought in of one is no longer there to be lost.
    stores = [Apple(site, number + 1, at) for number in range(options.rounds)]
    site.apps = [store.configuration() for store in stores]
    site.roots = [store.listening["root_file"] for store in stores]
    cluster = Cluster(folder, is_synchronous=False)
    Pool(folder)
    installation = Installation(cluster, site)
    hosts = installation.hosts
    acknowledged, results, problems = {}, [], []
    print(f"{'round':>5}  {'fault':<10}  {'primary':<14}  promoted  acknowledged  lost  back after", flush=True)
    for number, store in enumerate(stores):
        fault, host = options.faults[number % len(options.faults)], hosts[number % len(hosts)]
        cluster.become_whole()
        former = cluster.primary()
        player = Player(lambda _: store.play_words(host.ports["ingest"]), options.rate, store.seed)
        recent = lambda: [uuid for uuid, signed in list(player.acknowledged.items()) if is_in_history(signed)]
        wait("that recent notifications are acknowledged", lambda: len(recent()) > BEFORE, 120)
        cluster.hold_back(former)
        time.sleep(BEHIND)
        began = time.monotonic()
        cluster.hurt(fault, former)
        before = set(recent())
        store.become_well()
        new = wait("another primary", lambda: (cluster.primary() or former) != former and cluster.primary(), 120)
        promoted = time.monotonic()
        lost = before - stored(cluster)
        back = None
        while time.monotonic() - promoted < 2 * PATIENCE:
            if not before - stored(cluster):
                back = time.monotonic() - promoted
                break
            time.sleep(0.5)
        cluster.mend(fault, former)
        player.end()
        acknowledged |= player.acknowledged
        for each in hosts:
            if each.ended():
                problems.append(f"round {number + 1}: {', '.join(each.ended())} of host {each.name} ended")
                each.start()
        if not lost:
            problems.append(f"round {number + 1}: nothing was lost, so nothing is shown")
        if back is None or back > PATIENCE:
            problems.append(f"round {number + 1}: what was lost was not back within {PATIENCE} s")
        results.append((promoted - began, len(lost), back or 2 * PATIENCE))
        told = f"{back:5.1f} s" if back is not None else f"not in {2 * PATIENCE} s"
        print(f"{number + 1:>5}  {fault:<10}  {former} → {new:<7}  {promoted - began:6.1f} s  {len(before):>12}  {len(lost):>4}  {told}", flush=True)
    settle(cluster, "entitled")
    there = stored(cluster)
    missing = [uuid for uuid, signed in acknowledged.items() if is_in_history(signed) and uuid not in there]
    older = [uuid for uuid, signed in acknowledged.items() if not is_in_history(signed) and uuid not in there]
    held, dead = held_and_undelivered(cluster)
    # What the history alone has told is sent where it is recent: other events have no delivery.
    sent = {row[0] for row in cluster.sql("SELECT DISTINCT event FROM entitled.delivery")}
    receiver = installation.receiver
    undelivered, again = sent - receiver.ids, receiver.count - len(receiver.ids)
    differences = installation.rebuild_differences()
    for host in hosts:
        host.stop()
    print()
    print(f"acknowledged {len(acknowledged)}, lost by failovers {sum(lost for _, lost, _ in results)}, missing in the end {len(missing)}; "
          f"older than Apple's history and lost {len(older)}")
    print(f"held {held}; not delivered {dead}; events sent {len(sent)}, not received {len(undelivered)}, "
          f"received more than once {again}, bad signatures {receiver.bad}")
    print(f"rebuild --dry-run: exit status {differences}")
    backs = [back for _, _, back in results]
    print(f"after the promotion, what was lost was back: median {statistics.median(backs):.1f} s, worst {max(backs):.1f} s")
    if missing or held or dead or undelivered or receiver.bad or differences:
        problems.append("something is missing, held, not delivered, badly signed or different: see above")
    for problem in problems:
        print(f"FAILED: {problem}")
    return 1 if problems else 0
