"""Builds the wheel: the interface of PEP 517, which `pip` and `python -m build` call.

Everything is compiled by zig for an old C library, so that the wheel runs where that or a newer one is.  SQLite, yajl, zstd,
zlib, libbsd and libmd are linked statically (third_party.py); their licences are in the wheel.  The setting machine=aarch64
is for arm64, where the wheel has not been run.

The tag is py3-none: the command and the bridges need no Python of a certain kind.  The extension modules of the package are
CPython's, in its limited API of 3.10; in any other Python, `import epprof` raises ImportError.
"""
import base64
import hashlib
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import third_party

ROOT = Path(__file__).resolve().parents[2]
BUILD = "build-wheel"
THIRD_PARTY = ROOT / BUILD / "third_party"
GLIBC = "2.28"
PYTHON_TAG = "py3-none"
ENTRY_POINTS = "[console_scripts]\nepprof = epprof_command:main\n"


def _version():
    header = (ROOT / "api/epprof/epprof.h").read_text(encoding="utf-8")
    return re.search(r'^#define EPPROF_VERSION "(.*)"', header, re.MULTILINE)[1]


def _metadata():
    text = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    return ("Metadata-Version: 2.1\nName: epprof\n" f"Version: {_version()}\n"
            "Summary: Records events of hosts and of execution providers on one timeline\nLicense: MIT\n"
            f"Requires-Python: >=3.10\nDescription-Content-Type: text/markdown\n\n{text}")


def _zig():
    import ziglang  # pylint: disable=import-outside-toplevel # only a build needs it
    return Path(ziglang.__file__).with_name("zig")


def _make(machine):
    target = f"{machine}-linux-gnu.{GLIBC}"
    compiler, archiver = [str(_zig()), "cc", "-target", target], [str(_zig()), "ar"]
    include, static = third_party.build(THIRD_PARTY, compiler, archiver, target)
    base, trace = (" ".join(str(static[name]) for name in names) for names in (("bsd", "md"), ("yajl", "sqlite3", "zstd", "z")))
    build = f"{BUILD}/{target}"
    variables = {
        "BUILD": build, "CC": " ".join(compiler), "AR": " ".join(archiver), "PYTHON": sys.executable, "CPPFLAGS": f"-isystem {include}",
        "CFLAGS": "-O2", "HIDE_READING": "-Wl,--version-script=packaging/wheel/bridge.map", "LDFLAGS": "-s",
        "BASE_LIBS": f"{base} -lpthread -ldl", "TRACE_LIBS": f"{trace} -lm", "COMMAND_LIBS": f"{base} -lm",
        # This compiler is newer than those that the tree is free of warnings with.
        "WERROR": ""}
    jobs = f"-j{os.cpu_count() or 1}"
    subprocess.run(["make", "-s", jobs, "wheel-tree", *(f"{key}={value}" for key, value in variables.items())], cwd=ROOT, check=True)
    return ROOT / build / "wheel"


def _licences():
    yield "LICENSE", (ROOT / "LICENSE").read_bytes()
    for name in third_party.PACKAGES:
        package, text = third_party.licence(THIRD_PARTY, name)
        yield f"licenses/{package}", text


def _digest(data):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Builds the wheel into a folder and returns its name."""
    del metadata_directory
    machine = (config_settings or {}).get("machine", os.uname().machine)
    tree = _make(machine)
    tag = f"{PYTHON_TAG}-manylinux_{GLIBC.replace('.', '_')}_{machine}"
    info = f"epprof-{_version()}.dist-info"
    files = [(path.relative_to(tree).as_posix(), path.read_bytes(), path.stat().st_mode & 0o777)
             for path in sorted(tree.rglob("*")) if path.is_file()]
    files += [(f"{info}/{name}", data, 0o644) for name, data in [
        ("METADATA", _metadata().encode()), ("entry_points.txt", ENTRY_POINTS.encode()), *_licences(),
        ("WHEEL", f"Wheel-Version: 1.0\nGenerator: epprof\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())]]
    record = "".join(f"{name},{_digest(data)},{len(data)}\n" for name, data, _ in files) + f"{info}/RECORD,,\n"
    name = f"epprof-{_version()}-{tag}.whl"
    with zipfile.ZipFile(Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for path, data, mode in [*files, (f"{info}/RECORD", record.encode(), 0o644)]:
            entry = zipfile.ZipInfo(path)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
    return name


def get_requires_for_build_wheel(config_settings=None):
    """Returns what is needed beyond pyproject.toml: nothing."""
    del config_settings
    return []
