"""Conan's recipe for epprof, built from the tree that it is in: `conan create packaging/conan`.

The libraries that epprof uses are the system's: the recipe checks that Debian's or Ubuntu's packages of them are installed.
"""
import os
import re
from pathlib import Path

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import build_jobs
from conan.tools.files import copy, rm, rmdir
from conan.tools.system.package_manager import Apt


class Epprof(ConanFile):
    name = "epprof"
    license = "MIT"
    description = "Records events of hosts and of execution providers on one timeline"
    topics = ("profiling", "tracing", "onnxruntime")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False]}
    default_options = {"shared": True}

    def _root(self):
        return Path(self.recipe_folder).parents[1]

    def set_version(self):
        header = (self._root() / "api/epprof/epprof.h").read_text(encoding="utf-8")
        self.version = re.search(r'^#define EPPROF_VERSION "(.*)"', header, re.MULTILINE)[1]

    def export(self):
        copy(self, "epprof.h", self._root() / "api/epprof", Path(self.export_folder).parent / "api/epprof")

    def export_sources(self):
        for part in ("api", "bench", "bridges", "cli", "docs", "ep_kit", "ep_sample", "packaging", "python", "runtime"):
            copy(self, f"{part}/*", self._root(), self.export_sources_folder)
        for file in ("Makefile", "LICENSE", "epprof.map"):
            copy(self, file, self._root(), self.export_sources_folder)

    def validate(self):
        if self.settings.os != "Linux" or self.settings.arch not in ("x86_64", "armv8"):
            raise ConanInvalidConfiguration("epprof is for Linux on x86_64 and armv8")
        if self.settings.compiler not in ("gcc", "clang"):
            raise ConanInvalidConfiguration("epprof is compiled by gcc or clang")

    def system_requirements(self):
        Apt(self).install(["libbsd-dev", "libmd-dev", "libyajl-dev", "libsqlite3-dev", "libzstd-dev", "zlib1g-dev"])

    def _make(self, *words):
        flags = ["CFLAGS='-O0 -g'"] if self.settings.build_type == "Debug" else []
        self.run(" ".join(["make", f"-sj{build_jobs(self)}", "PYTHON=none", *flags, *words]))

    def build(self):
        self._make("all")

    def package(self):
        self._make("install", f"PREFIX='{self.package_folder}'")
        copy(self, "LICENSE", self.build_folder, os.path.join(self.package_folder, "licenses"))
        rmdir(self, os.path.join(self.package_folder, "lib/pkgconfig"))  # with absolute paths; Conan writes its own
        if not self.options.shared:
            for library in ("libepprof", "libepprof-trace"):
                rm(self, f"{library}.so*", os.path.join(self.package_folder, "lib"))

    def package_info(self):
        # The package's own files for CMake, which find everything relative to themselves.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.components["epprof"].builddirs = ["lib/cmake/epprof"]
        for name, libs, system in (("epprof", ["epprof"], ["bsd", "pthread", "dl"]),
                                   ("trace", ["epprof-trace"], ["yajl", "sqlite3", "zstd", "z", "m"]),
                                   ("ep", ["epprof_ep"], ["pthread", "dl"])):
            part = self.cpp_info.components[name]
            part.libs = libs
            part.system_libs = [] if self.options.shared and name != "ep" else system
            part.set_property("pkg_config_name", "epprof" if name == "epprof" else f"epprof-{name}")
        self.cpp_info.components["trace"].requires = ["epprof"]
