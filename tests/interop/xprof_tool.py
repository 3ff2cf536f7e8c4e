"""XProf's own reader: what one of its tools shows of a file, or of the files of a run.  In an environment with xprof:
xprof_tool.py FILE TOOL."""
import shutil
import sys
import tempfile
from pathlib import Path


def tool(paths, name):
    """The names of the tools that there are, and this one's answer.  Caches are written beside the files, so copies are read."""
    from xprof.convert import raw_to_tool_data
    with tempfile.TemporaryDirectory() as directory:
        copies = [str(shutil.copy(path, Path(directory, f"host{number}.xplane.pb"))) for number, path in enumerate(paths)]
        names = raw_to_tool_data.xspace_to_tool_names(copies)
        data, _ = raw_to_tool_data.xspace_to_tool_data(copies, name, {})
    return names, data


if __name__ == "__main__":
    answer = tool(sys.argv[1:2], *sys.argv[2:])[1]
    print(answer if isinstance(answer, str) else answer.decode())
