"""A browser without a window: Chromium, spoken to in its DevTools protocol through a pipe, with nothing but the standard
library.

    with browser.Browser() as chromium:
        page = chromium.open(path, width=1280, height=800, dark=True)
        page.wait("document.documentElement.dataset.ready")
        page.value("epprof.model.events.count")
"""
import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
LIMIT_S = 20


def find():
    """The path of a browser, or None."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Failure(Exception):
    """The page threw, or what was waited for did not come."""


def until(condition, otherwise):
    """Waits until it is true, and returns what it is then."""
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise Failure(otherwise() if callable(otherwise) else otherwise)


class Browser:
    def __init__(self, *options):
        self.profile = tempfile.TemporaryDirectory(prefix="epprof-browser-")
        theirs_in, self.requests = os.pipe()
        self.answers, theirs_out = os.pipe()

        def connect():  # it reads from 3 and writes to 4
            high_in, high_out = os.dup(theirs_in), os.dup(theirs_out)
            while high_in <= 4:
                high_in = os.dup(high_in)
            while high_out <= 4:
                high_out = os.dup(high_out)
            os.dup2(high_in, 3)
            os.dup2(high_out, 4)

        self.process = subprocess.Popen(
            [find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
             "--disable-background-networking", "--disable-dev-shm-usage", "--remote-debugging-pipe",
             f"--user-data-dir={self.profile.name}", *options, "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False,
            preexec_fn=connect)
        os.close(theirs_in)
        os.close(theirs_out)
        self.numbers = itertools.count(1)
        self.waiting = b""
        self.events = []
        # Pages that pages open are held until they are listened to.
        self.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True, filter=[{"type": "page"}])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.requests)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.answers)
        self.profile.cleanup()

    def _receive(self):
        while b"\0" not in self.waiting:
            if not select.select([self.answers], [], [], LIMIT_S)[0]:
                raise Failure("the browser says nothing")
            piece = os.read(self.answers, 1 << 20)
            if not piece:
                raise Failure("the browser is gone")
            self.waiting += piece
        message, self.waiting = self.waiting.split(b"\0", 1)
        return json.loads(message)

    def send(self, method, session=None, **parameters):
        """Asks without waiting for the answer; its number."""
        number = next(self.numbers)
        request = {"id": number, "method": method, "params": parameters}
        if session:
            request["sessionId"] = session
        os.write(self.requests, json.dumps(request).encode() + b"\0")
        return number

    def call(self, method, session=None, **parameters):
        number = self.send(method, session, **parameters)
        while True:
            message = self._receive()
            if message.get("id") == number:
                if "error" in message:
                    raise Failure(f"{method}: {message['error']['message']}")
                return message["result"]
            self.events.append(message)

    def attached(self, wanted):
        """What is told of the first page like that, with its session."""
        return self.told(lambda: next((event["params"] for event in self.events if event["method"] == "Target.attachedToTarget"
                                       and wanted(event["params"]["targetInfo"])), None), "no page comes")

    def told(self, condition, otherwise):
        """Waits for something that happens."""
        def look():
            self.call("Browser.getVersion")  # what happened comes with answers
            return condition()
        return until(look, otherwise)

    def open(self, address, width=1280, height=800, dark=False, scale=1, script=None):
        """A page of a file or an address, with storage of its own; `script` runs before those of the page."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        page = Page(self, self.attached(lambda info: info["targetId"] == target))
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)
        page.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce"}])
        page.call("Runtime.runIfWaitingForDebugger")
        page.call("Page.setLifecycleEventsEnabled", enabled=True)
        if script:
            page.call("Page.addScriptToEvaluateOnNewDocument", source=script)
        loader = page.call("Page.navigate", url=Path(address).absolute().as_uri() if "://" not in str(address) else address)["loaderId"]
        # A page is not asked: one that has opened another stands still until that is let go.
        self.told(lambda: any(event["name"] == "load" and event["loaderId"] == loader
                              for event in page.happened("Page.lifecycleEvent")), "the page does not load")
        return page


class Page:
    def __init__(self, browser, attached):
        self.browser = browser
        self.target = attached["targetInfo"]["targetId"]
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def value(self, expression):
        """What a JavaScript expression is; a promise is waited for."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise Failure(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def wait(self, expression):
        """Waits until it is true, and returns what it is then."""
        return until(lambda: self.value(expression),
                     lambda: f"never true: {expression}; {self.value('document.documentElement?.dataset.failed')}")

    def opened(self, script):
        """The page that this one opened, in which a script was run before its own."""
        page = Page(self.browser, self.browser.attached(lambda info: info.get("openerId") == self.target))
        page.call("Page.addScriptToEvaluateOnNewDocument", source=script)
        page.call("Runtime.runIfWaitingForDebugger")
        return page

    def painted(self):
        """Waits until everything is drawn; only the page in front is."""
        self.call("Page.bringToFront")
        self.value("new Promise((done) => { const look = () => epprof.waiting ? requestAnimationFrame(look) : done(); "
                   "requestAnimationFrame(look); })")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y, opens=False):
        """One that opens a page is not answered before that is let go."""
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        (self.browser.send if opens else self.browser.call)("Input.dispatchMouseEvent", self.session, type="mouseReleased", x=x, y=y,
                                                            button="left", clickCount=1)

    def press(self, key, text=None, shift=False):
        typed = key if len(key) == 1 and text is None else text or ""
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=typed, modifiers=8 * shift)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, modifiers=8 * shift)

    def screenshot(self, path):
        image = self.call("Page.captureScreenshot", format="png")["data"]
        Path(path).write_bytes(base64.b64decode(image))

    def happened(self, method):
        """What the page was told of since it was opened: requests of the network, exceptions."""
        return [event["params"] for event in self.browser.events
                if event.get("method") == method and event.get("sessionId") == self.session]
