#!/usr/bin/env python3
"""The kit compiles without a warning, as C11 and as C++17, for systems that are not here: by MinGW's gcc and by zig's clang."""
import shutil
import subprocess
import sys
import unittest

import interop
import viewers

viewers.in_environment("auditwheel", "ziglang", "build")

STRICT = ["-Wall", "-Wextra", "-Wconversion", "-Wcast-qual", "-pedantic", "-Werror", "-O0"]
KIT = interop.BUILD / "kit" / "ep_kit.c"
LANGUAGES = (["-std=c11"], ["-x", "c++", "-std=c++17"])
# The first bytes of object files; Windows' are a number of the processor.
MAGIC = {"linux": b"\x7fELF", "macos": b"\xcf\xfa\xed\xfe", "windows x86_64": b"\x64\x86", "windows aarch64": b"\x64\xaa"}


class Targets(unittest.TestCase):
    def check(self, system, *compiler, arguments=()):
        output = interop.scratch() / "ep_kit.o"
        done = subprocess.run([*compiler, *arguments, *STRICT, "-c", "-o", output, KIT], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(output.read_bytes().startswith(MAGIC[system]))

    def check_zig(self, system, target):
        for language in LANGUAGES:
            driver = "cc" if "-std=c11" in language else "c++"
            self.check(system, sys.executable, "-m", "ziglang", driver, "-target", target, arguments=language)

    def test_linux_musl(self):
        self.check_zig("linux", "x86_64-linux-musl")

    def test_macos(self):
        self.check_zig("macos", "aarch64-macos")
        self.check_zig("macos", "x86_64-macos")

    def test_windows_arm64(self):
        self.check_zig("windows aarch64", "aarch64-windows-gnu")

    @unittest.skipUnless(shutil.which("x86_64-w64-mingw32-g++"), "x86_64-w64-mingw32-g++ is not installed (./setup --interop)")
    def test_mingw(self):
        for language in LANGUAGES:
            self.check("windows x86_64", f"x86_64-w64-mingw32-{'gcc' if '-std=c11' in language else 'g++'}", arguments=language)


if __name__ == "__main__":
    interop.main()
