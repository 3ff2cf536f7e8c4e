"""Python runs this file at its start in a program under `epprof record`, which puts the folder into PYTHONPATH.  It installs the
import hooks, and then runs the sitecustomize that Python would have found without it."""
import importlib.machinery
import importlib.util
import os
import sys


def _run_next():
    own = os.path.dirname(os.path.abspath(__file__))
    others = [path for path in sys.path if os.path.abspath(path) != own]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec and spec.loader:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


if os.environ.get("EPPROF_RECORD"):
    import epprof_record_hooks
    epprof_record_hooks.install()
_run_next()
