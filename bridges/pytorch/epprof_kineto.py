"""epprof in PyTorch: importing this module loads the bridge, libepprof_kineto.so, after which torch.profiler has the events of plugins.

The bridge works only in the torch that it was compiled against.  It is taken from EPPROF_KINETO_LIBRARY, from the folder of this file, or
from up to four folders above it.  A wheel has its sources instead: the first import in an environment compiles them against this torch,
and keeps the library in the user's cache folder ($XDG_CACHE_HOME/epprof/torch-VERSION-NUMBER/; NUMBER is a digest of
its sources and of torch).  That needs a compiler of C++20, $CXX or c++, g++ or clang++; without one, the import raises ImportError.
"""
import ctypes
import fcntl
import hashlib
import logging
import mmap
import os
import platform
import shlex
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

LIBRARY = "libepprof_kineto.so"
LIBRARIES = "libepprof.so.0", "libepprof-trace.so.0"  # the libraries to which a wheel's bridge is linked
SOURCES = "bridges/pytorch/kineto.cc", "bridges/pytorch/kineto_ops.cc", "bridges/shared/hosted_plugins.c"
COMPILERS = "c++", "g++", "clang++"
FOLDERS_MAX = 5
FLAGS = ["-O2", "-fPIC", "-fvisibility=hidden", "-pthread", "-D_GNU_SOURCE", "-DUSE_KINETO", "-DFMT_HEADER_ONLY", "-DNDEBUG"]

_log = logging.getLogger(__name__)


def _is_for(path, version):
    """Returns True if a bridge is compiled for this version of torch, which is in the file."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        return mapped.find(f"compiled for torch {version}\0".encode()) >= 0


def _find(torch):
    """Returns the path of a bridge that was compiled before, or None; and that of the sources, or None."""
    version, others = torch.__version__.partition("+")[0], []
    named = os.environ.get("EPPROF_KINETO_LIBRARY")
    if named:
        return str(Path(named).resolve()), None
    for folder in list(Path(__file__).absolute().parents)[:FOLDERS_MAX]:
        for path in folder / LIBRARY, folder / "epprof/lib" / LIBRARY:
            if path.is_file() and _is_for(path, version):
                return str(path.resolve()), None
            others += [path] if path.is_file() else []
        if (folder / "epprof/lib/kineto").is_dir():
            return None, folder / "epprof/lib/kineto"
    if others:
        raise ImportError(f"{others[0]} is compiled for another torch than {version}; make kineto makes one for this")
    raise ImportError(f"no {LIBRARY} beside {__file__} or above; make kineto makes it, and EPPROF_KINETO_LIBRARY can name it")


# ---- the bridge of a wheel ----

def _compiler():
    """Returns the compiler's command."""
    named = shlex.split(os.environ.get("CXX", ""))
    found = [named] if named else [[name] for name in COMPILERS]
    for command in found:
        if shutil.which(command[0]):
            return command
    raise ImportError(f"the bridge is compiled against the installed torch when it is first used, and there is no C++ compiler "
                      f"({' or '.join(command[0] for command in found)}): install one for C++20, such as g++ (apt-get install g++)")


def _is_own(folder):
    """Returns True if the folder is the user's, and nobody else can write into it."""
    status = os.lstat(folder)
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _cache():
    """Returns epprof's folder in the user's cache folder."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    cache = (Path(named) if os.path.isabs(named) else Path.home() / ".cache") / "epprof"
    cache.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    cache.mkdir(mode=0o700, exist_ok=True)
    if not _is_own(cache):
        raise ImportError(f"{cache}: the bridge is not kept in a folder that belongs to another user, or into which others can write")
    return cache


def _digest(torch, sources):
    made_of = (torch.__version__, torch.version.git_version, int(torch._C._GLIBCXX_USE_CXX11_ABI), platform.machine(), platform.libc_ver(), FLAGS)
    digest = hashlib.sha256(repr(made_of).encode())
    for path in sorted(sources.rglob("*")):
        if path.is_file():
            digest.update(path.relative_to(sources).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _run(log, *commands):
    """Runs commands side by side; their output goes into a file.  Raises ImportError if one fails."""
    with open(log, "ab") as output:
        running = [(command, subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)) for command in commands]
        failed = [command for command, process in running if process.wait() != 0]
    if failed:
        lines = Path(log).read_text(encoding="utf-8", errors="replace").splitlines()
        reason = next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "no output")
        raise ImportError(f"the bridge cannot be compiled against the installed torch: {reason} (all is in {log})")


def _compile(torch, sources, compiler, folder, log):
    """Makes the bridge in a folder."""
    Path(log).unlink(missing_ok=True)
    include, libraries = Path(torch.__path__[0]) / "include", Path(torch.__path__[0]) / "lib"
    abi = f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}"
    places = [f"-I{sources}/api", f"-I{sources}", "-isystem", f"{include}", "-isystem", f"{include}/kineto"]
    objects = [f"{folder}/{Path(source).stem}.o" for source in SOURCES]
    _run(log, *([*compiler, *(["-x", "c", "-std=gnu11"] if source.endswith(".c") else ["-std=c++20", abi]), *FLAGS, *places,
                 "-c", "-o", target, f"{sources}/{source}"] for source, target in zip(SOURCES, objects)))
    _run(log, [*compiler, "-shared", "-pthread", "-Wl,-z,nodelete", "-Wl,--allow-shlib-undefined", "-o", f"{folder}/{LIBRARY}", *objects,
               f"-L{sources.parent}", *(f"-l:{name}" for name in LIBRARIES), "-Wl,--no-as-needed", f"-L{libraries}", "-ltorch_cpu", "-lc10"])


def _is_made(path):
    """Returns True if the file exists and is not empty: after a crash of the computer a new file may be empty."""
    return path.is_file() and path.stat().st_size > 0


def _build(torch, sources):
    """Returns the path of the bridge for this torch, which is compiled if the cache lacks it."""
    cache = _cache()
    kept = cache / f"torch-{torch.__version__}-{_digest(torch, sources)}"
    if not _is_made(kept / LIBRARY):
        compiler = _compiler()
        with open(f"{kept}.lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not _is_made(kept / LIBRARY):  # another process may have made the library
                _log.warning("epprof: compiling PyTorch's bridge for torch %s, once", torch.__version__)
                with tempfile.TemporaryDirectory(dir=cache, prefix="making-") as folder:
                    _compile(torch, sources, compiler, folder, f"{kept}.log")
                    kept.mkdir(mode=0o700, exist_ok=True)
                    with open(f"{folder}/{LIBRARY}", "rb") as made:
                        os.fsync(made.fileno())
                    os.replace(f"{folder}/{LIBRARY}", kept / LIBRARY)
                    os.unlink(f"{kept}.log")
    if not _is_own(kept):
        raise ImportError(f"{kept} belongs to another user, or others can write into it")
# These libraries are loaded from the wheel first: the dynamic linker then uses them for the bridge.  The path that is
# stored in the cached bridge may not exist any more.
    for name in LIBRARIES:
        ctypes.CDLL(str(sources.parent / name))
    return str(kept / LIBRARY)


def _set_up():
    import torch  # pylint: disable=import-outside-toplevel
    path, sources = _find(torch)
    path = path or _build(torch, sources)
    torch.ops.load_library(path)
    return path


try:
    LOADED = _set_up()
except (ImportError, OSError, AttributeError, RuntimeError, ValueError) as error:
    raise ImportError(f"epprof_kineto: {error}") from error
