#!/usr/bin/env python3
"""Virtual environments with packages from PyPI, made when they are first wanted and kept.

environment.py [--under DIRECTORY] PACKAGE[==VERSION]...    prints the path of the environment's Python

The first package names the environment.  Without a version it is the newest, looked for again after a day.  The default
directory is EPPROF_CACHE, or epprof in the user's cache folder.
"""
import fcntl
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

FRESH_SECONDS = 24 * 3600
TORCH_STUBS = Path(__file__).resolve().parent / "torch_stubs.py"


class Unavailable(Exception):
    """The environment cannot be made; the text says why."""


def cache():
    user_cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("EPPROF_CACHE") or Path(user_cache) / "epprof")


def _run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        lines = done.stdout.strip().splitlines() or [f"exit status {done.returncode}"]
        raise Unavailable(lines[-1])


def _install(where, requirements, alone, anew):
    python = where / "bin" / "python"
    if anew:
        # What an interrupted installation left may lack pip itself.
        shutil.rmtree(where, ignore_errors=True)
        _run(sys.executable, "-m", "venv", str(where))
    pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--upgrade"]
    _run(*pip, *requirements)
    if alone:
        _run(*pip, "--no-deps", *alone)
    if "--no-deps" in requirements:
        for site_packages in where.glob("lib/python*/site-packages/torch"):
            _run(sys.executable, str(TORCH_STUBS), str(site_packages.parent))


def torch(version):
    """Requirements of torch without the GPU libraries that it is linked to, which torch_stubs.py makes up for."""
    return [f"torch=={version}" if version != "newest" else "torch", "--no-deps", "typing_extensions", "sympy", "mpmath",
            "networkx", "jinja2", "markupsafe", "fsspec", "filelock", "numpy", "setuptools"]


def python_with(requirements, under=None, alone=()):
    """The Python of an environment with these packages (and options of pip's), the first of which names it; those `alone`
    come without what they ask for."""
    under = Path(under or cache()).absolute()
    name, _, version = requirements[0].partition("==")
    where = under / f"{name}-{version or 'newest'}-py{sys.version_info.major}.{sys.version_info.minor}"
    wanted = "\n".join([*requirements, *alone])
    stamp = where / "installed"  # what was asked for, written last
    under.mkdir(parents=True, exist_ok=True)
    with open(f"{where}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        complete = stamp.exists() and stamp.read_text(encoding="utf-8") == wanted
        if complete and (version or time.time() - stamp.stat().st_mtime < FRESH_SECONDS):
            return where / "bin" / "python"
        print(f"environment: fetching {' '.join(requirements)} into {where}", file=sys.stderr)
        try:
            _install(where, requirements, alone, anew=not complete)
        except Unavailable as error:
            if not complete:
                raise Unavailable(f"{requirements[0]}: {error}") from error
            print(f"{requirements[0]}: not looked for anew: {error}", file=sys.stderr)
        stamp.write_text(wanted, encoding="utf-8")
    return where / "bin" / "python"


def main(arguments):
    under = None
    if arguments[:1] == ["--under"]:
        under, arguments = arguments[1], arguments[2:]
    if not arguments or arguments[0].startswith("-"):
        sys.exit(__doc__.strip())
    try:
        print(python_with(arguments, under))
    except Unavailable as error:
        sys.exit(f"environment: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
