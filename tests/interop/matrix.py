"""What each plugin can say in each host: the table that check_matrix.py holds every cell to, and that docs/matrix.md and the
README show as a run of it has found it."""
import re
from typing import NamedTuple

import interop

COUNT = 300
PLUGINS = {"ort": "ONNX Runtime", "tf": "TensorFlow, accepted", "tf_first": "TensorFlow, first revision", "pu1": "PU1",
           "pjrt": "PJRT"}
HOSTS = {"epprof": "epprof", "onnxruntime": "ONNX Runtime", "tensorflow": "TensorFlow", "pytorch": "PyTorch", "jax": "JAX"}


class Cell(NamedTuple):
    """Of all units of work: how finely the output tells time, whether their streams are told apart, and what it joins each to."""
    resolution: str  # "ns", "us"
    streams: bool
    joined: tuple = ()  # of "event": the host's event that launched it; "call": the plugin's own; "number": the plugin's, unjoined

    def __str__(self):
        words = {"event": "host event", "call": "call", "number": "own number"}
        return f"{self.resolution}, {'streams' if self.streams else 'no streams'}, " + (
            " and ".join(words[each] for each in self.joined) or "not joined")


# An execution provider and a PU1 plugin are told which event of the host's is open, where the host shows its events:
# TensorFlow and JAX do not.  PU1 reports calls, TensorFlow's and PJRT's ABI know one another's numbers only.
EXPECTED = {
    ("ort", "epprof"): Cell("ns", True, ("event",)),
    ("ort", "onnxruntime"): Cell("us", True, ("event",)),
    ("ort", "tensorflow"): Cell("ns", True),
    ("ort", "pytorch"): Cell("ns", True, ("event",)),
    ("ort", "jax"): Cell("ns", True),
    ("tf", "epprof"): Cell("ns", True, ("number",)),
    ("tf", "onnxruntime"): Cell("us", True, ("number",)),
    ("tf", "tensorflow"): Cell("ns", True, ("number",)),
    ("tf", "pytorch"): Cell("ns", True, ("number",)),
    ("tf", "jax"): Cell("ns", True, ("number",)),
    ("tf_first", "epprof"): Cell("ns", True, ("number",)),
    ("tf_first", "onnxruntime"): Cell("us", True, ("number",)),
    ("tf_first", "tensorflow"): Cell("ns", True, ("number",)),
    ("tf_first", "pytorch"): Cell("ns", True, ("number",)),
    ("tf_first", "jax"): Cell("ns", True, ("number",)),
    ("pu1", "epprof"): Cell("ns", True, ("event", "call")),
    ("pu1", "onnxruntime"): Cell("us", True, ("event", "call")),
    ("pu1", "tensorflow"): Cell("ns", True, ("call",)),
    ("pu1", "pytorch"): Cell("ns", True, ("event", "call")),
    ("pu1", "jax"): Cell("ns", True, ("call",)),
    ("pjrt", "epprof"): Cell("ns", True, ("number",)),
    ("pjrt", "onnxruntime"): Cell("us", True, ("number",)),
    ("pjrt", "tensorflow"): Cell("ns", True, ("number",)),
    ("pjrt", "pytorch"): Cell("ns", True, ("number",)),
    ("pjrt", "jax"): Cell("ns", True, ("number",)),
}
RESOLUTIONS_NS = {"ns": 1, "us": 1000}


def library(plugin):
    return interop.library(f"libsample_{plugin}_ep")


# ---- the table as text ----

VERSIONS_ROW = "| *tried with* |"
BEGIN, END = "<!-- made by tests/interop/check_matrix.py --write -->\n", "<!-- end -->\n"


def table(found, versions):
    rows = ["| plugin for | " + " | ".join(HOSTS.values()) + " |", "|---" * (len(HOSTS) + 1) + "|",
            f"{VERSIONS_ROW} " + " | ".join(versions[host] for host in HOSTS) + " |"]
    for plugin, name in PLUGINS.items():
        rows.append(f"| {name} | " + " | ".join(str(found[plugin, host]) for host in HOSTS) + " |")
    return "".join(f"{row}\n" for row in rows)


def without_versions(text):
    return [line for line in text.splitlines() if not line.startswith(VERSIONS_ROW)]


def shown_in(text):
    """The table that a document shows, which is between two marks."""
    found = re.search(re.escape(BEGIN) + "(.*)" + re.escape(END), text, re.DOTALL)
    return found.group(1) if found else ""


def put_into(text, shown):
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    return text[:begin] + shown + text[end:]
