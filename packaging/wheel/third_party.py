"""The libraries of others in the wheel: compiled statically for the C library that the wheel claims.

The sources are Debian's or Ubuntu's, with their patches: apt-get downloads them from the archives of this system and checks
their signatures.  Below the folder that is given, `sources/` has what was downloaded, and one folder a target the results.

    third_party.py FOLDER NAME...   only downloads, and prepares, the sources of these libraries
"""
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# The file that each library is made of, as patterns in its source package, and how it is compiled.
SQLITE_FLAGS = ("-DSQLITE_THREADSAFE=1", "-DSQLITE_ENABLE_MATH_FUNCTIONS", "-DSQLITE_OMIT_LOAD_EXTENSION")
PACKAGES = {
    "bsd": ("libbsd", [f"src/{name}.c" for name in ("expand_number", "merge", "strlcat", "strlcpy", "strtoi", "strtonum")],
            ("-Iinclude", "-Iinclude/bsd", "-DLIBBSD_OVERLAY", "-D_GNU_SOURCE")),
    "md": ("libmd", ["src/sha2.c", "src/sha256hl.c"], ("-Isrc", "-Iinclude", "-DHAVE_UNISTD_H")),
    "yajl": ("yajl", ["src/yajl*.c"], ("-Iinclude",)),
    "sqlite3": ("sqlite3", ["sqlite3.c"], SQLITE_FLAGS),
    "zstd": ("libzstd", ["lib/common/*.c", "lib/compress/*.c", "lib/decompress/*.c"], ("-DZSTD_DISABLE_ASM", "-DZSTD_LEGACY_SUPPORT=0")),
    "z": ("zlib", ["*.c"], ("-DHAVE_UNISTD_H",)),
}
# Where the headers are in the source packages.
HEADERS = {"bsd": ["include/bsd"], "md": ["include/sha2.h"], "yajl": ["include/yajl"], "sqlite3": ["sqlite3.h"],
           "zstd": ["lib/zstd.h", "lib/zstd_errors.h"], "z": ["zlib.h", "zconf.h"]}


def _run(*command, **options):
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL, **options)


def _archives(folder):
    """Writes apt's list of the source archives that belong to this system's archives."""
    folder.mkdir(parents=True, exist_ok=True)
    lists = [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*")]
    for path in lists:
        if path.suffix in (".list", ".sources") and path.exists():
            text = re.sub(r"^deb(?=[ \t])|^Types:.*$", lambda found: "Types: deb-src" if ":" in found[0] else "deb-src",
                          path.read_text(encoding="utf-8"), flags=re.MULTILINE)
            (folder / path.name).write_text(text, encoding="utf-8")


def _download(folder, names):
    """Downloads and unpacks the source packages; each is then folder/NAME of the library."""
    apt = folder / "apt"
    _archives(apt / "archives")
    for part in ("lists/partial", "cache/archives/partial"):
        (apt / part).mkdir(parents=True, exist_ok=True)
    options = [word for setting in ("Dir::Etc::SourceList=/dev/null", f"Dir::Etc::SourceParts={apt}/archives",
                                    f"Dir::State::Lists={apt}/lists", f"Dir::Cache={apt}/cache", "APT::Sandbox::User=root")
               for word in ("-o", setting)]
    packages = [PACKAGES[name][0] for name in names]
    try:
        _run("apt-get", "-qq", *options, "update")
        _run("apt-get", "-qq", *options, "source", "--download-only", *packages, cwd=folder, stderr=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError) as error:
        raise RuntimeError(f"the source packages of {', '.join(packages)} cannot be downloaded: {error}") from error
    for name, package in zip(names, packages):
        description = next(folder.glob(f"{package}_*.dsc"))
        shutil.rmtree(folder / name, ignore_errors=True)
        # apt-get has checked the signature of the archive, and the checksum of this file in it.
        _run("dpkg-source", "--no-check", "-x", description, folder / name, stderr=subprocess.DEVNULL)
    shutil.rmtree(apt)


def _prepare_bsd(source):
    (source / "include/config.h").touch()


def _prepare_md(source):
    (source / "include/config.h").touch()
    text = (source / "src/helper.c").read_text(encoding="utf-8")
    for before, after in (("hashinc", "sha2.h"), ("HASH", "SHA256"), (r"SHA\d{3}_CTX", "SHA2_CTX")):
        text = re.sub(before, after, text)
    (source / "src/sha256hl.c").write_text(text, encoding="utf-8")


def _prepare_yajl(source):
    numbers = dict(re.findall(r"SET \((YAJL_M\w+) (\d+)\)", (source / "CMakeLists.txt").read_text(encoding="utf-8")))
    text = (source / "src/api/yajl_version.h.cmake").read_text(encoding="utf-8")
    (source / "include/yajl").mkdir(parents=True)
    for header in (source / "src/api").glob("*.h"):
        shutil.copy(header, source / "include/yajl")
    (source / "include/yajl/yajl_version.h").write_text(re.sub(r"\$\{(\w+)\}", lambda found: numbers[found[1]], text), encoding="utf-8")


def _prepare_sqlite3(source):
    _run("sh", "./configure", "--disable-tcl", cwd=source, stderr=subprocess.DEVNULL)
    _run("make", "-s", "sqlite3.c", cwd=source, stderr=subprocess.DEVNULL)


# Make the files that a build of each package would generate first.
PREPARE = {"bsd": _prepare_bsd, "md": _prepare_md, "yajl": _prepare_yajl, "sqlite3": _prepare_sqlite3}


def sources(folder, names=tuple(PACKAGES)):
    """Returns the folder with the unpacked sources, one folder a library, and downloads them if they are not there.

    A folder is for one list of names.
    """
    target = folder / "sources"
    if not (target / "complete").exists():
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        _download(target, names)
        for name in names:
            if name in PREPARE:
                PREPARE[name](target / name)
        (target / "complete").touch()
    return target


def _archive(compiler, archiver, files, where, library):
    objects = {path: where / f"{path.stem}.o" for path in files}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda path: _run(*compiler, "-c", "-o", objects[path], path), files))
    _run(*archiver, "rcs", library, *objects.values())


def build(folder, compiler, archiver, target):
    """Returns the folder include/ with the headers, and {name: path} of the static libraries.

    `compiler` and `archiver` are lists of words; `target` names the folder of the results, which are not made again.
    """
    unpacked, results = sources(folder), folder / target
    libraries = {name: results / f"lib{name}.a" for name in PACKAGES}
    if (results / "complete").exists():
        return results / "include", libraries
    shutil.rmtree(results, ignore_errors=True)
    (results / "include").mkdir(parents=True)
    for name, (_, patterns, flags) in PACKAGES.items():
        files = sorted(path for pattern in patterns for path in (unpacked / name).glob(pattern))
        where = results / name
        where.mkdir()
        words = [f"-I{unpacked / name / word[2:]}" if word.startswith("-I") else word for word in flags]
        _archive([*compiler, "-O2", "-fPIC", "-fvisibility=hidden", "-w", *words], archiver, files, where, libraries[name])
        for header in HEADERS[name]:
            os.symlink(unpacked / name / header, results / "include" / Path(header).name)
    (results / "complete").touch()
    return results / "include", libraries


def licence(folder, name):
    """Returns the name of a library's package and the text of its licence."""
    package = PACKAGES[name][0]
    return package, (sources(folder) / name / "debian/copyright").read_bytes()


if __name__ == "__main__":
    sources(Path(sys.argv[1]).resolve(), sys.argv[2:])
