"""The console as a person uses it: see deploy/browser. Everything is private to a temporary folder, and gone at the end."""

import argparse
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

PASSWORD = "correct horse battery staple"
WIDTHS = (360, 1440)
HOSTILE = "<script>alert(1)</script>"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


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
    def __init__(self, site, browser, shots):
        self.site, self.browser, self.shots = site, browser, shots
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

    def look(self, page, name):
        """What every page must be, at each width and in each colour scheme."""
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 900})
                # Colours change over a moment; what is seen in between is no state of the page.
                page.evaluate("Promise.all(document.getAnimations().map(animation => animation.finished.catch(() => {})))")
                over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
                self.need(over <= 0, f"{name}: scrolls sideways by {over} pixels at {width}")
                if self.shots:
                    page.screenshot(path=f"{self.shots}/{name}-{width}-{scheme}.png", full_page=True)
            self.looked += 1
            # `script-src 'self'` keeps axe out of the page; a context that ignores the policy is the same page otherwise.
            result = self.axe.run(page)
            for violation in result.response["violations"]:
                where = "; ".join(node["html"][:120] for node in violation["nodes"][:3])
                self.faults.append(f"{name}, {scheme}: axe: {violation['id']}: {where}")

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
        self.need(page.get_by_role("heading", name="Change the password").count() == 1, "the password was not set")
        page.goto(url)
        self.need("does not work" in page.content(), "a link works twice")
        return page

    def tour(self, page):
        """From a search to a customer, an event, a delivery, an endpoint; and the lists."""
        customer = self.site.json("customers", "list")["customers"][0]["original_app_user_id"]
        page.goto(f"{self.base}/console/")
        self.look(page, "overview")
        page.get_by_role("searchbox").fill(customer)
        page.keyboard.press("Enter")
        page.wait_for_url("**/customers/**")
        self.need(page.get_by_role("heading", name="Timeline").count() == 1, "the search led to no customer")
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
        for name in ("customers", "events", "deliveries", "endpoints", "notifications"):
            page.get_by_role("navigation").get_by_role("link", name=name.capitalize()).click()
            page.wait_for_url(f"**/console/{name}")
            self.look(page, name)
        page.locator("tbody a").first.click()
        self.look(page, "notification")
        page.goto(f"{self.base}/console/search?q={HOSTILE}")
        self.need("Nothing is known" in page.content(), "a search for nothing did not say so")
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
            self.need(page.get_by_role("img", name=re.compile("Sandbox")).count() == 1, f"{name}: no drawing with a name")
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
        self.need(page.locator("table tbody tr").count() > 20, "weeks are not more than months")
        self.look(page, "chart-weeks")
        page.goto(f"{self.base}/console/charts/active")
        self.look(page, "chart-without-numbers")

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
        self.need("It is done." in page.content(), "the grant was not done")
        self.look(page, "change")
        page.get_by_role("link", name="To what was changed").click()
        card = page.locator(".card", has=page.get_by_role("heading", name="extra"))
        self.need("not active" not in card.inner_text(), "the customer does not have what was granted")
        page.get_by_role("navigation").get_by_role("link", name="Audit").click()
        page.wait_for_url("**/console/audit")
        self.need(page.locator("tbody tr", has_text="anna").count() == 1, "the audit does not name who granted")
        self.look(page, "audit")
        page.goto(f"{self.base}/console/endpoints")
        page.locator("tbody a").first.click()
        page.get_by_role("link", name="Pause", exact=False).click()
        self.look(page, "pause")
        page.get_by_label("Reason").fill("the consumer is upgraded")
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile(r"/console/changes/\d+$"))
        self.need("It is done." in page.content(), "the endpoint was not paused")

    def without_script(self):
        """The same by password, in a browser without script and with the policy in force."""
        page = self.context(script=False)
        page.goto(f"{self.base}/console/customers")
        page.get_by_label("Name").fill("anna")
        page.get_by_label("Password").fill("wrong password!")
        page.get_by_role("button", name="Log in").click()
        self.need("is wrong" in page.content(), "a wrong password was not refused")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        self.need(page.url.endswith("/console/customers"), f"the log-in led to {page.url}")
        page.locator("tbody a").first.click()
        page.locator(".steps .chip a").first.click()
        page.locator("main a[href*='/console/deliveries/']").first.click()
        self.need("/deliveries/" in page.url, "no way from a customer to a delivery without script")
        page.locator("details.account summary").click()
        page.get_by_role("button", name="Log out").click()
        self.need(page.url.endswith("/console/login"), f"the log-out led to {page.url}")

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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", required=True)
    parser.add_argument("--chromium", required=True)
    parser.add_argument("--shots")
    options = parser.parse_args()
    # A short path, because the path of a unix socket is short; entered by the user as whom Postgres runs.
    folder = tempfile.mkdtemp(prefix="entitled-web.", dir="/tmp")
    os.chmod(folder, 0o755)
    site = None
    try:
        site = Site(options.programs, folder)
        with sync_playwright() as playwright:
            arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
            browser = playwright.chromium.launch(executable_path=options.chromium, args=arguments)
            checks = Checks(site, browser, options.shots)
            page = checks.log_in_by_link()
            checks.tour(page)
            checks.charts(page)
            checks.change(page)
            checks.without_script()
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
