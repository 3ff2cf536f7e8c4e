#!/usr/bin/env python3
"""epprof probe with execution providers of vendors, as their packages have them."""
import json
import subprocess
import sys
import unittest
from pathlib import Path

import interop

interop.in_each_environment(interop.VENDORS)

EPPROF = str(interop.BUILD / "epprof")
PACKAGES = Path(sys.prefix)


def probe(name, *options):
    """The exit status, and the facts as {name of a fact: [facts]}."""
    (library,) = PACKAGES.glob(f"lib/python*/site-packages/*/{name}.so")
    done = subprocess.run([EPPROF, "probe", "--format", "json", *options, str(library)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False, timeout=300)
    (found,) = json.loads(done.stdout)
    (kind,) = found["kinds"]
    return done.returncode, {next(iter(fact)): fact for fact in kind["facts"] if "symbol" not in fact}


class OpenVino(unittest.TestCase):
    NAME = "libonnxruntime_providers_openvino_plugin"

    def test_it_serves_processors_of_its_vendor(self):
        code, facts = probe(self.NAME, "--device", "cpu:vendor=0x8086")
        self.assertEqual(code, 0, facts)
        self.assertEqual(facts["name"]["name"], "OpenVINOExecutionProvider")
        self.assertTrue(facts["entry"]["present"], facts)

    def test_it_serves_no_others(self):
        for device in ("cpu", "cpu:vendor=0x1022"):
            code, facts = probe(self.NAME, "--device", device)
            self.assertEqual(code, 1)
            self.assertIn("it does not support the offered device (CPU", facts["problem"]["problem"])


class WebGpu(unittest.TestCase):
    NAME = "libonnxruntime_providers_webgpu"

    def test_it_serves_graphics_processors(self):
        """It opens the device when it makes an EP, so it can go no further without one."""
        code, facts = probe(self.NAME, "--device", "gpu:vendor=0x10de")
        if code == 0:
            self.assertEqual(facts["name"]["name"], "WebGpuExecutionProvider")
        else:
            self.assertRegex(facts["problem"]["problem"], "^CreateEp: .* WebGPU adapter")

    def test_it_serves_no_processor(self):
        code, facts = probe(self.NAME)
        self.assertEqual(code, 1)
        self.assertIn("it does not support the offered device (CPU)", facts["problem"]["problem"])


class Table(unittest.TestCase):
    def test_the_versions_are_those_of_the_document(self):
        """docs/plugins.md has the results of the versions that are tried here."""
        table = (interop.ROOT / "docs/plugins.md").read_text(encoding="utf-8")
        for framework in (interop.VENDORS, interop.PJRT_VENDORS):
            for requirement in framework.requirements(framework.all_versions[0]):
                name, _, version = requirement.partition("==")
                if version:
                    self.assertIn(f"| {name} {version} |", table)


if __name__ == "__main__":
    interop.main()
