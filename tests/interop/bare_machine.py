"""A bare Debian or Ubuntu of this machine's release, with Python and without a compiler, as a new user's machine may be.

debootstrap makes it once, in a folder of EPPROF_CACHE.  A command runs in it by chroot, in a mount namespace of its own, so
that no mount is left behind.
"""
import fcntl
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import environment

PATH = "/usr/local/bin:/usr/bin:/bin"
PACKAGES = "python3,python3-venv,ca-certificates"
# $1 the root, $2 the folder at /srv, $3 the folder at /mnt, which cannot be written to; the command follows.
ENTER = """
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
mount -t tmpfs tmpfs "$1/tmp"
mount --bind "$2" "$1/srv"
mount --bind "$3" "$1/mnt"
mount -o remount,bind,ro "$1/mnt"
root=$1
shift 3
exec chroot "$root" "$@"
"""


class Unavailable(Exception):
    """There can be no bare machine here; the text is the reason."""


def _release():
    text = Path("/etc/os-release").read_text(encoding="utf-8")
    return dict(re.findall(r'^(\w+)="?(.*?)"?$', text, re.MULTILINE))


def _mirror():
    """The archive that this system's packages come from."""
    done = subprocess.run(["apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages"], capture_output=True, text=True,
                          check=False)
    if not done.stdout:
        raise Unavailable("apt-get has no archive here")
    return done.stdout.split()[0]


def _root():
    if os.geteuid() != 0:
        raise Unavailable("only root can make a bare machine")
    if not shutil.which("debootstrap"):
        raise Unavailable("debootstrap is not installed (./setup --interop)")
    if subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, check=False).returncode != 0:
        raise Unavailable("nothing can be mounted here")
    codename = _release().get("VERSION_CODENAME")
    root = environment.cache() / f"bare-{codename}"
    root.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{root}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (root / "ready").exists():
            shutil.rmtree(root, ignore_errors=True)
            done = subprocess.run(["debootstrap", "--variant=minbase", f"--include={PACKAGES}", codename, root, _mirror()],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            if done.returncode != 0:
                raise Unavailable(f"debootstrap: {(done.stdout.strip().splitlines() or ['failed'])[-1]}")
            (root / "ready").touch()
    return root


class BareMachine:
    """`folder` is its /srv, where commands start; the cache with the frameworks' packages is its /mnt."""

    def __init__(self, folder):
        self.root = _root()
        self.folder = folder

    def run(self, *command, **environ):
        """The finished process of a command, with its output as texts."""
        variables = {"HOME": "/srv", "PATH": PATH, "LANG": "C.UTF-8", **environ}
        shell = "cd /srv && exec " + shlex.join(str(word) for word in command)
        inside = ["env", "-i", *(f"{name}={value}" for name, value in variables.items()), "sh", "-c", shell]
        return subprocess.run(["unshare", "--mount", "sh", "-euc", ENTER, "enter", self.root, self.folder, environment.cache(), *inside],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False)
