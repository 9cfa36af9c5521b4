"""The console as a person uses it: see deploy/browser. Everything is private to a temporary folder, and gone at the end."""

import argparse
import faulthandler
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import sync_playwright

PASSWORD = "correct horse battery staple"
WIDTHS = (360, 1440)
# The pages that README shows, as wide and high as there is something to see.
README_PAGES = {"customer": (1200, 820), "chart-mrr-movement": (1200, 960)}
# Some of what is asked of a browser has no timeout of its own; the whole takes four minutes on two cores.
LONGEST_SECONDS = 900
HOSTILE = "<script>alert(1)</script>"
# What outsiders may put wherever they can fill something in.
CORPUS = (
    HOSTILE, "<img src=x onerror=alert(1)>", "\"><svg onload=alert(1)>", "' onmouseover='alert(1)", "{{7*7}}${7*7}",
    "javascript:alert(1)//", "a\u202egpj.exe\u2066b\u200b", "+ADw-script+AD4-alert(1)+ADw-/script+AD4-",
    "</title></bdi></pre><script>alert(1)</script>", "<img src=https://example.com/x.png>", "<style>*{color:red}</style>",
)  # fmt: skip


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Refuser(BaseHTTPRequestHandler):
    """A consumer that answers every delivery with what would run in a page that showed it as it is."""

    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length") or 0))
        body = "\n".join(CORPUS).encode() + b"\0\xff"
        self.send_response(500)
        self.send_header("content-type", "text/html")
        self.send_header("x-hostile", HOSTILE)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Site:
    """entitled with a private Postgres, a consumer that is away, and a year of subscribers."""

    def __init__(self, programs, folder):
        self.programs, self.folder, self.processes = programs, folder, []
        self.ports = {name: free_port() for name in ("ingest", "api", "admin", "console", "consumer")}
        self.run("storesim", "pki", "--out", f"{folder}/pki")
        self.config = f"{folder}/entitled.json5"
        listen = {name: {"listen": f"127.0.0.1:{self.ports[name]}"} for name in ("ingest", "api", "admin", "console")}
        with open(self.config, "w", encoding="utf-8") as file:
            json.dump(
                listen
                | {
                    "state_dir": f"{folder}/state",
                    "trust": {"root_sha256": [], "root_files": [f"{folder}/pki/root.pem"]},
                    "apps": [
                        {"id": "demo", "bundle_id": "com.example.app", "apple_app_id": 1234567890, "environments": ["Sandbox"]}
                    ],
                    "entitlements": {"pro": ["pro_monthly", "pro_yearly", "pro_lifetime"], "extra": ["extra_pack"]},
                    "reports": {"refresh": "1m"},
                    "webhooks": {"retry_schedule": ["1s", "2s"], "allow_private_networks": ["127.0.0.0/8"]},
                },
                file,
            )
        self.log = open(f"{folder}/entitled.log", "wb")
        self.processes.append(
            subprocess.Popen([f"{programs}/entitled", "run", "--config", self.config], stdout=self.log, stderr=self.log)
        )
        self.wait("entitled", lambda: self.get("admin", "/readyz") == 200 and self.get("console", "/readyz") == 200)
        self.refuser = ThreadingHTTPServer(("127.0.0.1", 0), Refuser)
        threading.Thread(target=self.refuser.serve_forever, daemon=True).start()
        refusing = f"http://127.0.0.1:{self.refuser.server_address[1]}/hooks"
        self.run("entitled", "endpoints", "add", refusing, "--config", self.config)
        for path in ("hooks", "closed"):
            self.run("entitled", "endpoints", "add", f"http://127.0.0.1:{self.ports['consumer']}/{path}", "--config", self.config)
        self.run(
            "storesim", "play", "--to", f"http://127.0.0.1:{self.ports['ingest']}/apple/notifications", "--pki",
            f"{folder}/pki", "--scenario", "year", "--subscribers", "3", "--quiet",
        )  # fmt: skip
        self.wait("the log to be applied", lambda: not self.json("notifications", "list", "--state", "pending")["notifications"])
        self.wait("an attempt", lambda: any(d["attempts"] for d in self.json("deliveries", "list")["deliveries"]))

    def run(self, program, *arguments):
        done = subprocess.run([f"{self.programs}/{program}", *arguments], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"browser: {program} {' '.join(arguments[:2])} failed: {done.stderr.strip()}")
        return done.stdout

    def json(self, *arguments):
        return json.loads(self.run("entitled", *arguments, "--json", "--config", self.config))

    def has_revenue(self):
        command = [f"{self.programs}/entitled", "charts", "show", "revenue", "--environment", "Sandbox", "--json"]
        done = subprocess.run([*command, "--config", self.config], capture_output=True, text=True, check=False)
        return done.returncode == 0 and json.loads(done.stdout)["tables"]

    def sql(self, text):
        """Does what no command does, such as an outage that is over."""
        socket_folder = next(root for root, _, files in os.walk(self.folder) if ".s.PGSQL.5432" in files)
        done = subprocess.run(
            ["psql", "-h", socket_folder, "-U", "entitled", "-d", "entitled", "-v", "ON_ERROR_STOP=1", "-qtA"],
            input=text, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            sys.exit(f"browser: the database refused a row: {done.stderr.strip()}")
        return done.stdout.strip()

    def fill(self):
        """An outage that is over, and two questions about refunds."""
        self.sql(
            """
            WITH now AS (SELECT floor(extract(epoch FROM clock_timestamp()) / 60)::int8 AS minute)
            INSERT INTO entitled.listening SELECT minute - before FROM now,
                (SELECT * FROM generate_series(0, 90) UNION ALL SELECT 180) AS b(before) ON CONFLICT DO NOTHING;
            INSERT INTO entitled.history_look (app, environment, covered_ms)
            SELECT 'demo', 1, (floor(extract(epoch FROM clock_timestamp())) * 1000)::int8 ON CONFLICT DO NOTHING;
            WITH now AS (SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::int8 AS ms)
            INSERT INTO entitled.refund_request (lane, app, environment, transaction_id, original_transaction_id, product_id,
                reasons, repeats, asked_ms, deadline_ms)
            SELECT lane, app, environment, original_transaction_id, original_transaction_id, product_id,
                '{UNINTENDED_PURCHASE}', 0, ms - 3600000, ms + 5400000 * row_number() OVER () FROM now, entitled.purchase
            LIMIT 2
            ON CONFLICT (lane, transaction_id, app, environment) DO UPDATE SET asked_ms = excluded.asked_ms,
                deadline_ms = excluded.deadline_ms, decided_ms = NULL, decision = NULL, state = 'open';
            """
        )

    def start_job(self):
        """A job that goes on for some twenty seconds: it is started right before it is looked at."""
        endpoint = self.json("endpoints", "list")["endpoints"][0]["id"]
        self.processes.append(
            subprocess.Popen(
                [f"{self.programs}/entitled", "replay", "webhooks", "--endpoint", endpoint, "--since", "500d", "--all",
                 "--rate", "1", "--config", self.config], stdout=self.log, stderr=self.log,
            )
        )  # fmt: skip
        self.wait("a job", lambda: self.sql("SELECT count(*) FROM entitled.job WHERE state = 'running'") != "0")

    def fill_with_hostile_texts(self):
        """Rows as apps, consumers and operators could leave them, a text of the corpus in every field that has one."""
        for number, text in enumerate(CORPUS):
            value = "$hostile$" + text + "$hostile$"
            name = "$hostile$" + text + str(number) + "$hostile$"
            self.sql(
                f"""
                INSERT INTO entitled.customer (original_app_user_id, first_seen_ms)
                    SELECT {name}, (extract(epoch FROM clock_timestamp()) * 1000)::int8;
                INSERT INTO entitled.app_user_id (id, original_app_user_id, first_seen_ms) VALUES ({name}, {name}, 1);
                INSERT INTO entitled.customer_attribute VALUES ({name}, {value}, {value}, 1);
                INSERT INTO entitled.product (product_id, app, environment, kind, first_seen_ms)
                    VALUES ({name}, {value}, 0, {value}, 1);
                INSERT INTO entitled.refund_request (lane, app, environment, transaction_id, original_transaction_id,
                    product_id, reasons, repeats, asked_ms, deadline_ms, state, failure)
                    SELECT 1, {value}, 0, {name}, {name}, {name}, ARRAY[{value}], 0, 1, 4000000000000, 'failed', {value};
                INSERT INTO entitled.job (kind, request, parameters, state, error, made_by, created_ms, updated_ms)
                    VALUES ({value}, {name}, to_json({value}::text), 'failed', {value}, {value}, 1, 1);
                INSERT INTO entitled.audit (at_ms, actor, address, kind, target, reason, outcome, message)
                    VALUES ((extract(epoch FROM clock_timestamp()) * 1000)::int8, {name}, {value}, 'grant', {value},
                        {value}, 'refused', {value});
                INSERT INTO entitled.console_user (name, role, created_ms) VALUES ({name}, 'read', 1);
                INSERT INTO entitled.console_session (hash, id, user_name, address, browser, by_link, started_ms, seen_ms)
                    SELECT convert_to({name}, 'UTF8'), {name}, {name}, {value}, {value}, true, ms, ms
                    FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8 AS ms) n;
                INSERT INTO entitled.endpoint (id, url, environments, events, apps, created_ms, disabled_reason)
                    VALUES ({name}, {value}, '{{}}', ARRAY[{value}], ARRAY[{value}], 1, {value});
                INSERT INTO entitled.event (lane, id, type, app, environment, original_transaction_id, created_ms, body,
                    sequence)
                    SELECT {number}, md5({name})::uuid, {value}, {value}, 0, {name},
                        (extract(epoch FROM clock_timestamp()) * 1000)::int8, '', 1;
                """
            )

    def get(self, role, path):
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{self.ports[role]}{path}", timeout=5).status
        except OSError:
            return 0

    @staticmethod
    def wait(what, done):
        for _ in range(600):
            if done():
                return
            time.sleep(0.1)
        sys.exit(f"browser: waited a minute for {what}")

    def end(self):
        for process in self.processes:
            process.terminate()
            process.wait(30)


class Checks:
    def __init__(self, site, browser, shots, readme):
        self.site, self.browser, self.shots, self.readme = site, browser, shots, readme
        self.base = f"http://127.0.0.1:{site.ports['console']}"
        self.axe = Axe()
        self.faults, self.looked = [], 0
        self.refused = {
            f"{self.base}/console/search?q={urllib.parse.quote(HOSTILE)}", f"{self.base}/console/events?typ=x",
            f"{self.base}/console/login", f"{self.base}/favicon.ico",
        }  # fmt: skip

    def context(self, **options):
        context = self.browser.new_context(java_script_enabled=options.pop("script", True), **options)
        context.on("request", lambda request: self.need(request.url.startswith(self.base), f"a request to {request.url}"))
        page = context.new_page()
        page.on("console", self.hear)
        page.on("dialog", lambda dialog: self.faults.append(f"dialog: {dialog.message}"))
        return page

    def hear(self, message):
        """A page of an error is a document with a status of its own, which Chromium reports, too."""
        if message.text.startswith("Failed to load resource") and message.location["url"] in self.refused:
            return
        self.faults.append(f"console message of {message.location['url']}: {message.text}")

    def need(self, holds, fault):
        if not holds:
            self.faults.append(fault)

    def await_(self, holds, fault):
        """Until it holds: after a click, the page before may still be there."""
        end = time.monotonic() + 15
        while time.monotonic() < end:
            try:
                if holds():
                    return
            except PlaywrightError:
                pass  # The page was leaving.
            time.sleep(0.05)
        self.faults.append(fault() if callable(fault) else fault)

    def await_stillness(self, page):
        """By asking again: a promise of an animation that a page in the background never draws is never kept."""
        moving = "document.getAnimations().filter(animation => animation.playState === 'running').length"
        for _ in range(100):
            if page.evaluate(moving) == 0:
                return
            page.wait_for_timeout(20)
        self.faults.append(f"{page.url}: still moves after two seconds")

    def look(self, page, name, audits=True):
        """What every page must be, at each width and in each colour scheme; without axe where the policy keeps it out."""
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 900})
                # Colours change over a moment; what is seen in between is no state of the page.
                self.await_stillness(page)
                over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
                self.need(over <= 0, f"{name}: scrolls sideways by {over} pixels at {width}")
                if self.shots:
                    page.screenshot(path=f"{self.shots}/{name}-{width}-{scheme}.png", full_page=True)
            self.looked += 1
            if not audits:
                continue
            # `script-src 'self'` keeps axe out of the page; a context that ignores the policy is the same page otherwise.
            result = self.axe.run(page)
            for violation in result.response["violations"]:
                where = "; ".join(node["html"][:120] for node in violation["nodes"][:3])
                self.faults.append(f"{name}, {scheme}: axe: {violation['id']}: {where}")

        if self.readme and name in README_PAGES:
            width, height = README_PAGES[name]
            page.set_viewport_size({"width": width, "height": height})
            page.emulate_media(color_scheme="light")
            self.await_stillness(page)
            page.screenshot(path=f"{self.readme}/console-{name}.png")

    def log_in_by_link(self):
        self.site.run("entitled", "users", "add", "anna", "--role", "operator", "--config", self.site.config)
        url = self.site.json("users", "link", "anna")["url"]
        self.refused.add(url)
        page = self.context(bypass_csp=True)
        page.goto(f"{self.base}/console/")
        self.look(page, "login")
        page.goto(url)
        self.look(page, "link")
        page.get_by_role("button", name="Log in").click()
        self.look(page, "me")
        page.get_by_label("New password").fill(PASSWORD)
        page.get_by_label("The same again").fill(PASSWORD)
        page.get_by_role("button", name="Set the password").click()
        self.await_(lambda: page.get_by_role("heading", name="Change the password").count() == 1, "the password was not set")
        page.goto(url)
        self.await_(lambda: "does not work" in page.content(), "a link works twice")
        return page

    def tour(self, page):
        """From a search to a customer, an event, a delivery, an endpoint; and the lists."""
        customer = self.site.json("customers", "list")["customers"][0]["original_app_user_id"]
        page.goto(f"{self.base}/console/")
        self.look(page, "overview")
        page.get_by_role("searchbox").fill(customer)
        page.keyboard.press("Enter")
        page.wait_for_url("**/customers/**")
        self.await_(lambda: page.get_by_role("heading", name="Timeline").count() == 1, "the search led to no customer")
        self.look(page, "customer")
        page.locator(".steps .chip a").first.click()
        page.wait_for_url("**/events/**")
        self.look(page, "event")
        page.locator("main a[href*='/console/deliveries/']").first.click()
        page.wait_for_url("**/deliveries/**")
        self.look(page, "delivery")
        page.locator("main a[href*='/console/endpoints/']").first.click()
        page.wait_for_url("**/endpoints/**")
        self.look(page, "endpoint")
        for name in ("customers", "events", "deliveries", "endpoints", "products", "settings", "notifications"):
            page.get_by_role("navigation").get_by_role("link", name=name.capitalize()).click()
            page.wait_for_url(f"**/console/{name}")
            self.look(page, name)
            if name == "notifications":
                page.locator("tbody a").first.click()
                self.look(page, "notification")
        page.goto(f"{self.base}/console/search?q={HOSTILE}")
        self.await_(lambda: "Nothing is known" in page.content(), "a search for nothing did not say so")
        self.look(page, "search")
        page.goto(f"{self.base}/console/events?typ=x")
        self.look(page, "error")

    def charts(self, page):
        """Every chart: a drawing with a name, its table, and CSV with the same rows."""
        # What was played is in the second refresh, a minute after the first one.
        self.site.wait("the tables of reports", self.site.has_revenue)
        page.get_by_role("navigation").get_by_role("link", name="Charts").click()
        page.wait_for_url("**/console/charts")
        self.look(page, "charts")
        names = [chart["name"] for chart in self.site.json("charts", "list")["charts"]]
        self.need(len(names) == 9, f"there are the charts {names}")
        for name in names:
            page.goto(f"{self.base}/console/charts/{name}?environment=Sandbox")
            self.await_(lambda: page.get_by_role("img", name=re.compile("Sandbox")).count() == 1, f"{name}: no drawing with a name")
            rows = page.locator("table tbody tr").count()
            with page.expect_download() as download:
                page.get_by_role("link", name="All numbers as CSV").click()
            with open(download.value.path(), encoding="utf-8") as file:
                lines = [line.split(",") for line in file.read().splitlines()[1:]]
            shown = page.locator("caption").inner_text().split(",")[0]
            self.need(len([line for line in lines if line[3] in ("", shown)]) == rows, f"{name}: CSV has other rows")
            self.look(page, f"chart-{name}")
        page.goto(f"{self.base}/console/charts/active-movement?environment=Sandbox")
        page.get_by_label("By", exact=True).select_option("week")
        page.get_by_role("button", name="Filter").click()
        page.wait_for_url("**by=week**")
        self.await_(lambda: page.locator("table tbody tr").count() > 20, "weeks are not more than months")
        self.look(page, "chart-weeks")
        page.goto(f"{self.base}/console/charts/active")
        self.look(page, "chart-without-numbers")

    def records(self, page):
        """Purchases, outages, refund questions, and a job while it runs."""
        self.site.fill()
        for name, row in (("purchases", "purchase"), ("outages", "outage"), ("refunds", None)):
            page.get_by_role("navigation").get_by_role("link", name=name.capitalize()).click()
            page.wait_for_url(f"**/console/{name}")
            self.look(page, name)
            if row:
                page.locator("tbody a").first.click()
                page.wait_for_url(f"**/console/{name}/**")
                self.look(page, row)
        page.goto(f"{self.base}/console/purchases?status=revoked&product=none")
        self.await_(lambda: "Nothing fits these filters" in page.content(), "an empty list of purchases does not say why")
        self.look(page, "purchases-empty")
        page.get_by_role("link", name="Take all filters away").click()
        page.get_by_role("group", name="Environment").get_by_role("link", name="Sandbox").click()
        page.get_by_role("navigation").get_by_role("link", name="Events").click()
        self.await_(lambda: page.url.endswith("/console/events?env=Sandbox"), lambda: f"the environment was lost: {page.url}")
        self.site.start_job()
        page.goto(f"{self.base}/console/")
        page.get_by_role("link", name=re.compile("jobs? runs?$")).click()
        page.locator("tbody a").first.click()
        page.wait_for_url(re.compile(r"/console/jobs/\d+$"))
        page.evaluate("window.isSame = true")
        page.wait_for_function("!window.isSame", timeout=20_000)
        # Accessibility rules count a page that loads itself again as a fault; this is the one that a link on it leads to.
        page.get_by_role("link", name="Stop that").click()
        page.wait_for_url("**?refresh=off")
        self.look(page, "job")
        page.goto(f"{self.base}/console/jobs")
        self.look(page, "jobs")

    def hostile(self):
        """Every page with hostile texts, with the policy in force and script on: each fault of theirs is heard."""
        self.site.fill_with_hostile_texts()
        page = self.context()
        self.enter(page)
        lists = (
            "", "customers", "purchases", "events", "deliveries", "endpoints", "notifications", "outages", "refunds",
            "products", "jobs", "audit", "settings",
        )  # fmt: skip
        for path in lists:
            page.goto(f"{self.base}/console/{path}")
            if path in ("customers", "settings"):
                self.look(page, f"hostile-{path}", audits=False)
            links = page.evaluate(
                "[...document.querySelectorAll('main tbody a')].map(link => link.href).filter(url => !url.includes('?'))"
            )
            for url in sorted(set(links))[:40]:
                self.need(url.startswith(f"{self.base}/console/"), f"{path}: a link leads to {url}")
                # Rows of questions about refunds name purchases that nobody made.
                is_purchase = "/console/purchases/" in url
                if is_purchase:
                    self.refused.add(url)
                answer = page.goto(url)
                self.need(answer.status == 200 or is_purchase and answer.status == 404, f"{url}: {answer.status}")
            self.need(len(links) > 0 or path in ("", "outages", "settings", "products"), f"{path}: no row to follow")
        for text in CORPUS:
            for field in ("search?q=", "events?type=", "customers/", "jobs/", "purchases?product="):
                url = f"{self.base}/console/{field}{urllib.parse.quote(text, safe='')}"
                self.refused.add(url)
                page.goto(url)
        self.need(page.evaluate("document.querySelectorAll('script, iframe, object, svg, img').length") == 0, "an element")

    def enter(self, page):
        page.goto(f"{self.base}/console/login")
        page.get_by_label("Name").fill("anna")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url(f"{self.base}/console")

    def change(self, page):
        """A grant by the form of a customer's page: what will happen, what became of it, and the audit."""
        customer = self.site.json("customers", "list")["customers"][0]["original_app_user_id"]
        page.goto(f"{self.base}/console/customers/{urllib.parse.quote(customer, safe='')}")
        page.get_by_role("link", name="Grant", exact=False).click()
        page.wait_for_url("**/changes/new/grant?*")
        self.look(page, "grant")
        page.get_by_role("button", name="Grant").click()
        self.need("/changes/new/" in page.url, "a change without a reason was sent")
        page.get_by_label("Entitlement").select_option("extra")
        page.get_by_label("Reason").fill(f"a ticket {HOSTILE}")
        page.get_by_role("button", name="Grant").click()
        page.wait_for_url(re.compile(r"/console/changes/\d+$"))
        self.await_(lambda: "It is done." in page.content(), "the grant was not done")
        self.look(page, "change")
        page.get_by_role("link", name="To what was changed").click()
        card = page.locator(".card", has=page.get_by_role("heading", name="extra"))
        self.await_(lambda: "not active" not in card.inner_text(), "the customer does not have what was granted")
        page.get_by_role("navigation").get_by_role("link", name="Audit").click()
        page.wait_for_url("**/console/audit")
        granted = page.locator("tbody tr", has_text="Grant an entitlement").filter(has_text="anna")
        self.await_(lambda: granted.count() == 1, "the audit does not name who granted")
        self.look(page, "audit")
        page.goto(f"{self.base}/console/endpoints")
        page.locator("tbody a").first.click()
        page.get_by_role("link", name="Pause", exact=False).click()
        self.look(page, "pause")
        page.get_by_label("Reason").fill("the consumer is upgraded")
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile(r"/console/changes/\d+$"))
        self.await_(lambda: "It is done." in page.content(), "the endpoint was not paused")

    def many(self, page):
        """All that a list has with its filters: what will happen, the job, and the rows as a file."""
        self.site.wait("a dead delivery", lambda: self.site.json("deliveries", "list", "--state", "dead")["deliveries"])
        page.goto(f"{self.base}/console/deliveries?state=dead")
        self.look(page, "deliveries-dead")
        with page.expect_download() as download:
            page.get_by_role("link", name="CSV").click()
        with open(download.value.path(), encoding="utf-8") as file:
            rows = file.read().splitlines()
        self.need(len(rows) > 1 and all(",dead," in row for row in rows[1:]), f"CSV has other rows: {rows[:2]}")
        page.get_by_role("link", name="Send again", exact=False).click()
        page.wait_for_url("**/changes/many/resend?state=dead")
        self.look(page, "many")
        page.get_by_label("Reason").fill(f"the consumer was down {HOSTILE}")
        page.get_by_role("button", name="Send again", exact=False).click()
        page.wait_for_url(re.compile(r"/console/jobs/\d+$"))
        number = int(page.url.rsplit("/", 1)[1])
        self.site.wait("the job", lambda: self.site.json("jobs", "show", str(number))["state"] == "done")
        page.goto(f"{self.base}/console/jobs/{number}?refresh=off")
        self.await_(lambda: page.get_by_role("heading", name="Deliveries", exact=True).count() == 1, "the job does not say what became of them")
        self.look(page, "many-job")
        page.goto(f"{self.base}/console/audit?kind=export")
        self.await_(lambda: page.locator("tbody tr", has_text="state=dead").count() == 1, "the audit does not have the file")

    def persons(self, page):
        """A note on a customer, and what a transfer would come to."""
        customers = [row["original_app_user_id"] for row in self.site.json("customers", "list")["customers"]]
        url = f"{self.base}/console/customers/{urllib.parse.quote(customers[0], safe='')}"
        page.goto(url)
        page.get_by_role("link", name="Add a note", exact=False).click()
        self.look(page, "note")
        page.get_by_label("Note").fill(f"They called twice.\n{HOSTILE}")
        page.get_by_role("button", name="Add a note").click()
        page.wait_for_url(re.compile(r"/console/changes/\d+$"))
        self.await_(lambda: "It is done." in page.content(), "the note was not written")
        page.goto(url)
        self.await_(lambda: "They called twice." in page.content(), "the note is not on the page")
        page.get_by_text("Copy for the customer").click()
        self.look(page, "customer-with-note")
        page.get_by_role("link", name="Move purchases", exact=False).click()
        page.get_by_label("To the customer").fill(customers[1])
        page.get_by_role("button", name="Show what will happen").click()
        self.await_(lambda: page.get_by_role("heading", name="What will happen").count() == 1, "no preview of a transfer")
        self.look(page, "transfer")

    def without_script(self):
        """The same by password, in a browser without script and with the policy in force."""
        page = self.context(script=False)
        page.goto(f"{self.base}/console/customers")
        page.get_by_label("Name").fill("anna")
        page.get_by_label("Password").fill("wrong password!")
        page.get_by_role("button", name="Log in").click()
        self.await_(lambda: "is wrong" in page.content(), "a wrong password was not refused")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        self.await_(lambda: page.url.endswith("/console/customers"), lambda: f"the log-in led to {page.url}")
        page.locator("tbody a").first.click()
        page.locator(".steps .chip a").first.click()
        page.locator("main a[href*='/console/deliveries/']").first.click()
        self.await_(lambda: "/deliveries/" in page.url, "no way from a customer to a delivery without script")
        page.locator("details.account summary").click()
        page.get_by_role("button", name="Log out").click()
        self.await_(lambda: page.url.endswith("/console/login"), lambda: f"the log-out led to {page.url}")

    def with_policy(self):
        page = self.context()
        page.goto(f"{self.base}/console/login")
        page.keyboard.press("Tab")
        self.need(page.evaluate("document.activeElement.name") == "name", "the first stop of the keyboard is not the name")
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        self.need(colour not in ("rgba(0, 0, 0, 0)",), "the style sheet is not in force")
        metrics = urllib.request.urlopen(f"http://127.0.0.1:{self.site.ports['admin']}/metrics", timeout=5).read().decode()
        reports = re.search(r"^entitled_csp_reports_total (\d+)", metrics, re.M)
        self.need(reports and reports.group(1) == "0", "browsers reported what the policy forbids")


def give_up(*_):
    faulthandler.dump_traceback(all_threads=True)
    raise TimeoutError(f"browser: not at the end after {LONGEST_SECONDS} s; where it stood is above")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", required=True)
    parser.add_argument("--chromium", required=True)
    parser.add_argument("--shots")
    parser.add_argument("--readme")
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(LONGEST_SECONDS)
    # A short path, because the path of a unix socket is short; entered by the user as whom Postgres runs.
    folder = tempfile.mkdtemp(prefix="entitled-web.", dir="/tmp")
    os.chmod(folder, 0o755)
    site = None
    try:
        site = Site(options.programs, folder)
        with sync_playwright() as playwright:
            arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
            browser = playwright.chromium.launch(executable_path=options.chromium, args=arguments)
            checks = Checks(site, browser, options.shots, options.readme)
            page = checks.log_in_by_link()
            checks.tour(page)
            checks.charts(page)
            checks.records(page)
            checks.change(page)
            checks.many(page)
            checks.persons(page)
            checks.without_script()
            checks.hostile()
            checks.with_policy()
            browser.close()
    finally:
        if site:
            site.end()
        shutil.rmtree(folder, ignore_errors=True)
    for fault in checks.faults:
        print(f"browser: {fault}")
    if checks.faults:
        sys.exit(1)
    print(f"browser: {checks.looked} looks at pages, no fault")


main()
