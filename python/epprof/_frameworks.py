"""The bridges into frameworks."""
import os
from typing import Any, Optional, Union

from . import _record
from ._session import open_path


def bridge(name: str) -> str:
    """Returns the path of a bridge: "ort", "tf", "pjrt" or "kineto".  Raises FileNotFoundError if it is not installed."""
    path = os.path.join(_record.library_folder(), f"libepprof_{name}.so")
    if not os.path.exists(path):
        raise FileNotFoundError(f"{path} is not installed")
    return os.path.realpath(path)


def attach(session_options: Any, path: Union[str, "os.PathLike[str]", None] = None) -> None:
    """Adds epprof's collector to the SessionOptions of ONNX Runtime 1.26 or later, and turns profiling on.

    The trace is `path`, or else the trace of the open Session, or else EPPROF_OUTPUT.  The first two set EPPROF_OUTPUT,
    which ONNX Runtime's session reads when it is created, and child processes inherit.  Raises ValueError if none of
    the three is given, and RuntimeError if this ONNX Runtime cannot load the collector.
    """
    import onnxruntime  # pylint: disable=import-outside-toplevel
    output: Optional[str] = os.fspath(path) if path is not None else open_path() or os.environ.get("EPPROF_OUTPUT")
    if not output:
        raise ValueError("attach() needs a path, an open epprof.session with a path, or EPPROF_OUTPUT")
    if not hasattr(onnxruntime, "get_ep_devices"):
        raise RuntimeError(f"ONNX Runtime {onnxruntime.__version__} cannot load the collector; 1.26 and later can")
    if not _devices(onnxruntime):
        onnxruntime.register_execution_provider_library("epprof", bridge("ort"))
    collector = _devices(onnxruntime)
    if not collector:
        raise RuntimeError(f"ONNX Runtime {onnxruntime.__version__} did not accept the collector; 1.26 and later do")
    os.environ["EPPROF_OUTPUT"] = output
    session_options.enable_profiling = True
    session_options.add_provider_for_devices(collector, {})


def _devices(onnxruntime: Any) -> Any:
    return [device for device in onnxruntime.get_ep_devices() if device.ep_name == "epprof"]
