"""OpenCL runtimes for tests: those that are installed, and Intel's for processors, which comes from PyPI."""
import functools
import subprocess
from pathlib import Path

import environment
import interop

# Their libraries of the compiler are not among what they require.
INTEL = ("intel-opencl-rt==2026.2.0", "intel-cmplr-lib-rt==2026.2.0")
HEADERS = Path("/usr/include/CL/cl.h")
ICDS = Path("/etc/OpenCL/vendors")


def missing():
    """Why nothing of OpenCL can be tested here; "": it can be."""
    if not HEADERS.exists():
        return "no OpenCL headers (./setup --interop)"
    if not list(ICDS.glob("*.icd")):
        return "no OpenCL ICD (./setup --interop)"
    return ""


@functools.lru_cache
def intel():
    """The environment variables that make Intel's runtime the only one.  Raises environment.Unavailable."""
    lib = environment.python_with(list(INTEL)).parent.parent / "lib"
    if not (lib / "libintelocl.so").exists():
        raise environment.Unavailable(f"{INTEL[0]}: no {lib}/libintelocl.so")
    vendors = interop.scratch() / "intel"
    vendors.mkdir()
    (vendors / "intel.icd").write_text(f"{lib / 'libintelocl.so'}\n", encoding="utf-8")
    return {"OCL_ICD_VENDORS": str(vendors), "LD_LIBRARY_PATH": str(lib)}


def installed():
    """The same for the ones that are installed."""
    return {"OCL_ICD_VENDORS": str(ICDS)}


def linked():
    done = subprocess.run(["pkg-config", "--libs", "OpenCL"], capture_output=True, text=True, check=False)
    return done.stdout.split() or ["-lOpenCL"]
