"""A real Chromium without a screen, driven over WebDriver by Python's own library; and what it saw meanwhile: requests,
messages of its console, violations of the page's content security policy."""
import json
import os
import re
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Escape": "\ue00c", "Left": "\ue012", "Up": "\ue013", "Right": "\ue014",
        "Down": "\ue015", "End": "\ue010", "Home": "\ue011"}
PATIENCE = 30  # seconds for what a page does in much less, on a host that may be busy

# Before anything of a page runs.
WATCH = """
window.violations = [];
document.addEventListener('securitypolicyviolation', (e) => window.violations.push(e.violatedDirective + ' ' + e.blockedURI));
window.pwned = 0;
window.alert = window.confirm = window.prompt = () => { window.pwned++; };
"""


class Browser:
    """`with Browser() as browser`: a session with a new, empty profile."""

    def __init__(self, width=1280, height=800, dark=False):
        self.profile = tempfile.TemporaryDirectory(prefix="berth-chromium.")
        # What it keeps beside its profile stays out of the home folder.
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                       text=True, env={**os.environ, "HOME": self.profile.name})
        for line in self.driver.stdout:
            if found := re.search(r"started successfully on port (\d+)", line):
                self.base = f"http://127.0.0.1:{found[1]}"
                break
        arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                     "--disable-background-networking", "--disable-component-update", "--disable-sync",
                     "--disable-dev-shm-usage", "--force-color-profile=srgb", f"--user-data-dir={self.profile.name}",
                     f"--window-size={width},{height}"]
        options = {"browserName": "chrome", "acceptInsecureCerts": True, "goog:chromeOptions": {"args": arguments},
                   "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        answer = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": options}})
        self.session = f"/session/{answer['sessionId']}"
        self.cdp("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.set_dark(dark)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.ask("DELETE", self.session)
        except (OSError, RuntimeError):
            pass
        self.driver.terminate()
        self.driver.wait()
        self.driver.stdout.close()
        self.profile.cleanup()

    def ask(self, method, path, body=None):
        data = json.dumps(body or {}).encode() if method == "POST" else None
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            value = json.load(error)["value"]
            raise RuntimeError(f"{value['error']}: {value['message']}") from None

    def call(self, method, path, body=None):
        return self.ask(method, self.session + path, body)

    def cdp(self, command, **parameters):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def set_dark(self, dark):
        self.cdp("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, url):
        self.call("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        """A function's body; its result."""
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def run_until_called(self, script, *arguments):
        """Likewise; its last argument is a function that takes the result."""
        return self.call("POST", "/execute/async", {"script": script, "args": list(arguments)})

    def wait(self, script, *arguments):
        """Until the function's body gives something true, which is returned."""
        end = time.monotonic() + PATIENCE
        while True:
            value = self.run(script, *arguments)
            if value:
                return value
            if time.monotonic() > end:
                text = self.run("return document.body.innerText.slice(0, 600)")
                raise AssertionError(f"never came true: {script}\nThe page says: {text}")
            time.sleep(0.05)

    def find(self, css):
        return self.call("POST", "/element", {"using": "css selector", "value": css})[ELEMENT]

    def find_all(self, css):
        return [one[ELEMENT] for one in self.call("POST", "/elements", {"using": "css selector", "value": css})]

    def click(self, css):
        self.call("POST", f"/element/{self.find(css)}/click")

    def label(self, element):
        return self.call("GET", f"/element/{element}/computedlabel")

    def role(self, element):
        return self.call("GET", f"/element/{element}/computedrole")

    def type(self, *keys):
        actions = []
        for key in keys:
            value = KEYS.get(key, key)
            actions += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def write(self, css, text):
        self.call("POST", f"/element/{self.find(css)}/value", {"text": text})

    def screenshot(self):
        """PNG, in base64."""
        return self.call("GET", "/screenshot")

    def complaints(self):
        """Of the console since it was asked last: warnings and errors."""
        return [entry["message"] for entry in self.call("POST", "/se/log", {"type": "browser"})
                if entry["level"] in ("WARNING", "SEVERE")]

    def requests(self):
        """URLs that were asked for since the last time."""
        out = []
        for entry in self.call("POST", "/se/log", {"type": "performance"}):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                out.append(message["params"]["request"]["url"])
        return out
