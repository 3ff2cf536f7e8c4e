#!/usr/bin/env python3
"""The headers of ep_kit/clocks/: each compiles against its API's real headers, its pairs hold with a driver of the test's own, and
those of OpenCL and Vulkan on the devices that are here, which are processors."""
import os
import re
import shutil
import subprocess
import unittest
from pathlib import Path

import environment
import interop
import opencl

HERE = Path(__file__).resolve().parent / "clocks"
CLOCKS = interop.ROOT / "ep_kit" / "clocks"
STRICT = ["-Wall", "-Wextra", "-Wconversion", "-Wcast-qual", "-pedantic", "-Werror", "-O1", f"-I{interop.ROOT}"]
LANGUAGES = (["gcc", "-x", "c", "-std=c11"], ["g++", "-x", "c++", "-std=c++17"])
MINGW = "x86_64-w64-mingw32-"
# No windows, no .NET, no entries in the desktop's menus.
WINE = {"WINEPREFIX": str(environment.cache() / "wine"), "WINEARCH": "win64", "WINEDEBUG": "-all",
        "WINEDLLOVERRIDES": "mscoree=;mshtml=;winemenubuilder.exe=;explorer.exe="}
CUDA = ["nvidia-cuda-cupti==13.5.25", "nvidia-cuda-runtime==13.5.37", "nvidia-cuda-crt==13.5.37"]


def needs(header, package):
    return unittest.skipUnless(Path("/usr/include", header).exists(), f"no {header} ({package}, ./setup --interop)")


class Clocks(unittest.TestCase):
    def run_(self, *command, **environment_variables):
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment_variables})
        print(done.stdout, end="", flush=True)
        return done

    def check_compiles(self, name, *flags, prefix=""):
        for compiler, *language in LANGUAGES:
            with self.subTest(compiler):
                done = subprocess.run([prefix + compiler, *STRICT, *flags, *language, "-include", CLOCKS / name, "-c", "-o", os.devnull,
                                       os.devnull], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)

    def compiled(self, source, *flags, compiler="gcc"):
        output = interop.scratch() / "pairs"
        done = subprocess.run([compiler, "-std=gnu11", *STRICT, "-Wno-pedantic", "-o", output, HERE / source, *flags],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return output

    def check_stand_in(self, api, *flags):
        done = self.run_(self.compiled("stand_in.c", f"-DAPI_{api}", "-Wno-unused-function", *flags))
        self.assertEqual(done.returncode, 0, done.stderr)

    def cuda(self):
        try:
            python = environment.python_with(CUDA)
        except environment.Unavailable as error:
            self.skipTest(str(error))
        return [f"-isystem{next(python.parent.parent.glob('lib/python*/site-packages/nvidia/cu13/include'))}"]

    def test_cuda(self):
        flags = self.cuda()
        self.check_compiles("cuda.h", *flags)
        self.check_stand_in("CUDA", *flags)

    @needs("hip/hip_runtime_api.h", "libamdhip64-dev")
    def test_hip(self):
        self.check_compiles("hip.h", "-D__HIP_PLATFORM_AMD__")
        self.check_stand_in("HIP", "-D__HIP_PLATFORM_AMD__")

    @needs("level_zero/ze_api.h", "libze-dev")
    def test_level_zero(self):
        self.check_compiles("level_zero.h")
        self.check_stand_in("LEVEL_ZERO")

    @needs("vulkan/vulkan.h", "libvulkan-dev")
    def test_vulkan(self):
        self.check_compiles("vulkan.h", "-D_POSIX_C_SOURCE=199309L")
        self.check_stand_in("VULKAN")

    @needs("vulkan/vulkan.h", "libvulkan-dev")
    def test_vulkan_device(self):
        done = self.run_(self.compiled("vulkan_pairs.c", "-lvulkan"))
        if done.returncode == 77:
            self.skipTest(done.stdout.strip() or "no Vulkan device")
        self.assertEqual(done.returncode, 0, done.stderr)

    @unittest.skipUnless(shutil.which(MINGW + "gcc") and shutil.which("wine"), "no MinGW or no Wine (./setup --interop)")
    def test_d3d12(self):
        self.check_compiles("d3d12.h", prefix=MINGW)
        program = self.compiled("stand_in.c", "-DAPI_D3D12", "-Wno-unused-function", "-static", compiler=MINGW + "gcc")
        done = self.run_("wine", program.with_suffix(".exe"), **WINE)
        self.assertEqual(done.returncode, 0, done.stderr)

    @unittest.skipUnless(shutil.which(MINGW + "gcc"), "no MinGW (./setup --interop)")
    @needs("vulkan/vulkan.h", "libvulkan-dev")
    def test_vulkan_for_windows(self):
        include = interop.scratch() / "include"
        include.mkdir()
        for folder in ("vulkan", "vk_video"):
            (include / folder).symlink_to(Path("/usr/include", folder))
        self.check_compiles("vulkan.h", f"-isystem{include}", prefix=MINGW)

    @unittest.skipIf(opencl.missing(), opencl.missing())
    def test_opencl(self):
        self.check_compiles("opencl.h", "-DCL_TARGET_OPENCL_VERSION=300")
        self.check_compiles("opencl.h", "-DCL_TARGET_OPENCL_VERSION=200")
        sample = re.search(r"<!-- interop: check_clocks.py -->\n```c\n(.*?)^```$", (interop.ROOT / "docs/clocks.md").read_text(encoding="utf-8"),
                           re.DOTALL | re.MULTILINE)[1]
        done = subprocess.run(["gcc", "-Wall", "-Werror", "-Wno-unused-function", "-DCL_TARGET_OPENCL_VERSION=300", f"-I{interop.ROOT}",
                               f"-I{interop.ROOT / 'api'}", "-x", "c", "-c", "-o", os.devnull, "-"], input=sample, capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        program = self.compiled("opencl_pairs.c", *opencl.linked())
        for arguments in [], ["commands"]:
            done = self.run_(program, *arguments, **opencl.installed())
            self.assertEqual(done.returncode, 0, done.stderr)

    @unittest.skipIf(opencl.missing(), opencl.missing())
    def test_opencl_of_intel(self):
        try:
            variables = opencl.intel()
        except environment.Unavailable as error:
            self.skipTest(str(error))
        program = self.compiled("opencl_pairs.c", *opencl.linked())
        for arguments in [], ["commands"]:
            done = self.run_(program, *arguments, **variables)
            self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    interop.main()
