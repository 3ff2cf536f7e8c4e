"""XProf's own reader: what one of its tools shows of a file.  In an environment with xprof: xprof_tool.py FILE TOOL."""
import shutil
import sys
import tempfile
from pathlib import Path


def tool(path, name):
    """The names of the tools that there are, and this one's answer.  Caches are written beside the file, so a copy is read."""
    from xprof.convert import raw_to_tool_data
    with tempfile.TemporaryDirectory() as directory:
        copy = str(shutil.copy(path, Path(directory, "host.xplane.pb")))
        names = raw_to_tool_data.xspace_to_tool_names([copy])
        data, _ = raw_to_tool_data.xspace_to_tool_data([copy], name, {})
    return names, data


if __name__ == "__main__":
    answer = tool(*sys.argv[1:])[1]
    print(answer if isinstance(answer, str) else answer.decode())
