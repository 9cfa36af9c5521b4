"""Rounds of failovers under load: see deploy/failover. Everything is private to a folder and to namespaces."""

import argparse
import concurrent.futures
import functools
import glob
import os
import shutil
import statistics
import sys
import tempfile
import time

import failover_asynchronous
from failover_cluster import NODES, Cluster, Pool, http_status, run, wait
from failover_site import (
    WAY_NAMES, WAYS, Host, Installation, Player, Prober, Site, events, first_after, held_and_undelivered, prepare, settle,
    stored)

FAULTS = ("kill", "freeze", "cut", "switchover", "postgres")
SUBSCRIBERS_OF_A_PLAY = 60


# The lives lie ahead and come in their order. In the past a purchase would end while its renewal waits to be repeated, and
# what comes late would be told differently: the events would depend on when the primary was away.
AT = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 600 * 86400))


def play_words(site, port, seed):
    return [f"{site.programs}/storesim", "play", "--pki", f"{site.folder}/pki", "--to", f"http://127.0.0.1:{port}/apple/notifications",
            "--subscribers", str(SUBSCRIBERS_OF_A_PLAY), "--seed", str(seed), "--at", AT]


def main():
    parser = argparse.ArgumentParser(prog="deploy/failover")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--rate", type=int, default=100, help="notifications per second, over three hosts")
    parser.add_argument("--faults", help=f"of {', '.join(FAULTS)}, in turns")
    parser.add_argument(
        "--asynchronous", action="store_true",
        help="standbys that are not waited for: what a failover loses has to come back from Apple's history")
    parser.add_argument("--keep", action="store_true", help="leave the folder with logs and databases")
    parser.add_argument("--programs", required=True)
    options = parser.parse_args()
    # Nothing is lost where the primary hands over, or starts again with what it has.
    options.faults = (options.faults or ",".join(FAULTS[:3] if options.asynchronous else FAULTS)).split(",")
    folder = tempfile.mkdtemp(prefix="entitled-failover.", dir="/tmp")
    os.chmod(folder, 0o755)
    status = 1
    try:
        run("mount", "--make-rprivate", "/")
        status = (failover_asynchronous.rounds if options.asynchronous else rounds)(options, folder)
    finally:
        if options.keep or status:
            print(f"logs: {folder}")
        if not options.keep and not status:
            shutil.rmtree(folder, ignore_errors=True)
    # Threads that wait for processes are not waited for.
    sys.stdout.flush()
    os._exit(status)


def rounds(options, folder):
    site = Site(folder, options.programs)
    cluster = Cluster(folder)
    Pool(folder)
    installation = Installation(cluster, site)
    hosts, receiver = installation.hosts, installation.receiver
    most = {}

    def count_connections():
        for name, count in cluster.sql(
            "SELECT usename, count(*) FROM pg_stat_activity WHERE usename LIKE 'entitled%' GROUP BY 1 ORDER BY 1"):
            most[name] = max(most.get(name, 0), int(count))

    count_connections()
    print("connections of three hosts at rest: " + ", ".join(f"{name} {count}" for name, count in most.items()), flush=True)
    probes = {
        host.name: Prober(f"127.0.0.1:{host.ports['api']}", "/v1/subscribers/probe", {"Authorization": f"Bearer {installation.key}"})
        for host in hosts
    }
    players = [
        Player(functools.partial(play_words, site, host.ports["ingest"]), options.rate / len(hosts), 1000 * (number + 1))
        for number, host in enumerate(hosts)
    ]
    wait("the first acknowledgement", lambda: all(player.times for player in players))
    results, problems = [], []
    print(f"{'round':>5}  {'fault':<10}  {'primary':<14}  promoted  ingest a / b / c        api a / b / c           delivered", flush=True)
    for number in range(options.rounds):
        fault = options.faults[number % len(options.faults)]
        cluster.become_whole()
        count_connections()
        former = cluster.primary()
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
    held, dead = held_and_undelivered(cluster)
    found = events(cluster, "entitled")
    differences = installation.rebuild_differences()
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
    calm.command("endpoints", "add", "http://127.0.0.1:6999/", "--secret", installation.secret, "--json")
    calm.start()
    for player in players:
        for seed in player.seeds:
            run(*play_words(calm_site, calm.ports["ingest"], seed), "--connections", "1", "--quiet")
    settle(cluster, "calm")
    calm.stop()
    expected = events(cluster, "calm")
    missing, surplus = expected.keys() - found.keys(), found.keys() - expected.keys()
    lost = acknowledged - stored(cluster)
    every = [value for _, _, ingest, api, delivered in results for value in (*ingest, *api, delivered)]
    print()
    print(f"acknowledged {len(acknowledged)}, refused and repeated {sum(player.failed for player in players)}, lost {len(lost)}; held {held}; not delivered {dead}")
    print(f"events {len(found)}, missing {len(missing)}, surplus {len(surplus)}, not received {len(undelivered)}, sent more than once {sent_again}, bad signatures {bad}")
    print(f"rebuild --dry-run: exit status {differences}")
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
    if held or dead or undelivered or bad or differences:
        problems.append("something is held, not delivered, badly signed or different: see above")
    if max(every) > 10:
        problems.append(f"processes needed {max(every):.1f} s after a promotion; 10 s are allowed")
    for problem in problems:
        print(f"FAILED: {problem}")
    return 1 if problems else 0


main()
