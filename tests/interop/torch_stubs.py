#!/usr/bin/env python3
"""Makes PyPI's torch importable where there are no GPU libraries: torch_stubs.py SITE_PACKAGES

The wheel is linked to NVIDIA's libraries, 3 GB that a test on processors has no use for.  For each of them that is missing
a shared library is made with the symbols that torch wants of it, at the versions it wants, all of which fail.
"""
import collections
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SYSTEM = re.compile(r"lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|z|quadmath|gomp)[.-]|ld-linux")
# Whose symbols have which names; the first that matches has it.
OWNERS = [
    ("libcudart.", r"_*cuda(?!ToolsExt)"),
    ("libcupti.", r"cupti"),
    ("libcudnn.", r"cudnn"),
    ("libcublasLt.", r"cublasLt"),
    ("libcublas.", r"cublas"),
    ("libcufft.", r"cufft"),
    ("libcusparseLt.", r"cusparseLt"),
    ("libcusparse.", r"cusparse"),
    ("libcusolver.", r"cusolver"),
    ("libnccl.", r"p?nccl"),
    ("libnvshmem_host.", r"nvshmem|_Z\w*nvshmem"),
    ("libnvrtc.", r"nvrtc"),
    ("libcufile.", r"cuFile"),
    ("libcuda.", r"cu[A-Z]"),
]
TEXTS = re.compile(r"(cuda|nccl|cudnn)GetE?r?r?o?r?(String|Name)|ncclGetLastError|cudaGetErrorName")
FAILURES = {"libcudart.": 100, "libcuda.": 100, "libcupti.": 999}  # no device; unknown
FAILURE = 1


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout


def missing_libraries(libraries):
    needed = set()
    for library in libraries:
        needed.update(re.findall(r"\(NEEDED\).*\[(.*?)\]", output("readelf", "-dW", str(library))))
    return sorted(needed - {library.name for library in libraries} - set(filter(SYSTEM.match, needed)))


def undefined_symbols(libraries):
    """Each name that no library here defines, with the versions at which it is wanted."""
    wanted, defined = collections.defaultdict(set), set()
    for library in libraries:
        for line in output("nm", "-D", str(library)).splitlines():
            kind, symbol = line.split()[-2:]
            name, _, version = symbol.partition("@")
            if kind in "Uwv":
                wanted[name].add(version.lstrip("@"))
            else:
                defined.add(name)
    return {name: versions for name, versions in wanted.items() if name not in defined}


def make_stub(path, failure, symbols):
    names = sorted(symbols)
    versions = collections.defaultdict(list)
    for name in names:
        for version in symbols[name]:
            versions[version].append(name)
    with tempfile.TemporaryDirectory() as work:
        source, version_map = Path(work, "stub.c"), Path(work, "stub.map")
        source.write_text("".join(
            f'const char *{name}(void) {{ return "stub"; }}\n' if TEXTS.fullmatch(name)
            else f"long {name}(void) {{ return {failure}; }}\n" for name in names) or "\n", encoding="utf-8")
        command = ["cc", "-shared", "-fPIC", "-w", f"-Wl,-soname,{path.name}", str(source), "-o", str(path)]
        if any(versions):
            version_map.write_text("".join(
                f"{version} {{ global: {'; '.join(of)}; }};\n" for version, of in versions.items() if version),
                encoding="utf-8")
            command.append(f"-Wl,--version-script={version_map}")
        subprocess.run(command, check=True)


def main(site_packages):
    libraries = sorted(Path(site_packages, "torch", "lib").glob("*.so*"))
    symbols = collections.defaultdict(dict)
    for name, versions in undefined_symbols(libraries).items():
        owner = next((prefix for prefix, pattern in OWNERS if re.match(pattern, name)), None)
        if owner:
            symbols[owner][name] = versions
    # torch looks here for what its libraries lack.
    where = Path(site_packages, "nvidia", "cu13", "lib")
    where.mkdir(parents=True, exist_ok=True)
    for library in missing_libraries(libraries):
        prefix = next((prefix for prefix, _ in OWNERS if library.startswith(prefix)), None)
        make_stub(where / library, FAILURES.get(prefix, FAILURE), symbols.get(prefix, {}))


if __name__ == "__main__":
    main(*sys.argv[1:])
