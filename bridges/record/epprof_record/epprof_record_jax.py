"""JAX under `epprof record`: its profiler runs from the moment at which JAX has found its devices to the end.  Not from the import:
a program may still choose devices, or join other processes."""
import functools

from epprof_record_hooks import note
from epprof_record_session import WITHOUT_PLUGINS, XspaceSession, add_bridges, has_plugins


class _Session(XspaceSession):
    def begin(self):
        from jax._src.lib import _profiler  # pylint: disable=import-outside-toplevel
        if has_plugins():
            self._load_bridge()
        self.follow()
        options = _profiler.ProfileOptions()
        options.python_tracer_level = 0
        return self.make(options)

    @staticmethod
    def _load_bridge():
        """Loads the bridge, which JAX has not found: it searches for plugins when it is imported, before add_bridges()."""
        add_bridges()
        try:
            import jax_plugins.epprof  # pylint: disable=import-outside-toplevel
            jax_plugins.epprof.initialize()
        except ImportError as error:
            note(f"JAX {WITHOUT_PLUGINS}: {error}")

    def write(self, session, path):
        with open(path, "wb") as file:
            file.write(session.stop())


def set_up(_jax):
    # pylint: disable=import-outside-toplevel
    from jax._src import xla_bridge
    from jax._src.lib import _profiler
    session = _Session("JAX", _profiler)
    original = xla_bridge.backends

    @functools.wraps(original)
    def backends():
        found = original()
        session.start()
        return found
    xla_bridge.backends = backends
