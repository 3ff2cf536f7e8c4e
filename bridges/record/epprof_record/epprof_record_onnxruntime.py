"""ONNX Runtime under `epprof record`: each InferenceSession gets the collector, libepprof_ort.so, and is profiled."""
import functools
import itertools
import os
import threading

from epprof_record_hooks import FOLDER, find_library, is_recorded, note, seconds_to_end

COLLECTOR = "epprof"  # name of the collector's execution provider
OLDEST = (1, 26)

_numbers = itertools.count(1)
_lock = threading.RLock()  # held while the user's options are changed for a moment


class _Options:
    """Enables profiling and adds the collector in the user's options while a session is created; restores the former."""

    def __init__(self, options):
        self._options = options
        self._was = options.enable_profiling, options.profile_file_prefix
        if not options.enable_profiling:
            options.enable_profiling = True
            options.profile_file_prefix = os.path.join(FOLDER, f"onnxruntime_{os.getpid()}_{next(_numbers)}")

    def add_collector(self, devices):
        """Adds the collector, unless the options have it from an earlier session: it cannot be removed from options."""
        try:
            self._options.get_session_config_entry("epprof.attached")
        except RuntimeError:
            self._options.add_provider_for_devices(devices, {})
            self._options.add_session_config_entry("epprof.attached", "1")

    def restore(self):
        self._options.enable_profiling, self._options.profile_file_prefix = self._was


def _collectors(onnxruntime):
    return [device for device in onnxruntime.get_ep_devices() if device.ep_name == COLLECTOR]


def set_up(onnxruntime):
    if tuple(map(int, onnxruntime.__version__.split(".")[:2])) < OLDEST:
        note(f"ONNX Runtime {onnxruntime.__version__} runs unprofiled: profilers are there from 1.26 on")
        return
    library = find_library("libepprof_ort.so")
    original = onnxruntime.InferenceSession.__init__

    def attach(options, providers, provider_options):
        """Returns the arguments with the collector; None if the program attaches it itself, or this process is not recorded any more."""
        if not is_recorded() or seconds_to_end() == 0:
            return None
        if not attach.is_registered:
            if _collectors(onnxruntime):
                return None
            onnxruntime.register_execution_provider_library(COLLECTOR, library)
            attach.is_registered = True
        changed = _Options(options)
        try:
            if not providers and options.has_providers():
                changed.add_collector(_collectors(onnxruntime))
            else:
# If no providers are given, ONNX Runtime uses all available ones except Azure's.
                providers = providers or [name for name in onnxruntime.get_available_providers()
                                          if name not in ("AzureExecutionProvider", COLLECTOR)]
                providers = [*providers, COLLECTOR]
                provider_options = [*provider_options, {}] if provider_options else None
        except BaseException:
            changed.restore()
            raise
        return changed, providers, provider_options

    attach.is_registered = False

    @functools.wraps(original)
    def init(self, path_or_bytes, sess_options=None, providers=None, provider_options=None, **kwargs):
        with _lock:
            attached = None
            options = onnxruntime.SessionOptions() if sess_options is None else sess_options
            try:
                attached = attach(options, providers, provider_options)
            except Exception as error:  # pylint: disable=broad-exception-caught
                note(f"a session of ONNX Runtime runs unprofiled: {error}")
            if not attached:
                original(self, path_or_bytes, sess_options, providers, provider_options, **kwargs)
                return
            changed, with_collector, its_options = attached
            try:
                original(self, path_or_bytes, options, with_collector, its_options, **kwargs)
            finally:
                changed.restore()
# get_providers() returns to the program the providers that it asked for.
            self._providers = [name for name in self._providers if name != COLLECTOR]
            self._provider_options.pop(COLLECTOR, None)

    onnxruntime.InferenceSession.__init__ = init
