"""A program under `epprof record`."""
import json
import os
import subprocess
import sys
import textwrap

import interop


class Recorded:
    """A program in Python, or another command, under `epprof record`, in a folder of its own, which is empty at first."""
    count = 0

    def __init__(self, program, *options, files=(), command=(sys.executable, "program.py"), **environ):
        Recorded.count += 1
        self.folder = interop.scratch() / f"record {Recorded.count}"
        self.folder.mkdir()
        for name, text in {"program.py": program, **dict(files)}.items():
            (self.folder / name).write_text(textwrap.dedent(text), encoding="utf-8")
        clean = {name: value for name, value in os.environ.items()
                 if name != "PYTHONPATH" and (not name.startswith("EPPROF_") or name == interop.INSIDE)}
        self.done = subprocess.run([interop.BUILD / "epprof", "record", "-o", "a.epp", *options, "--", *command],
                                   cwd=self.folder, env={**clean, **environ}, capture_output=True, text=True, errors="replace",
                                   check=False)

    def epprof(self, *command):
        """What a command prints about the trace."""
        done = subprocess.run([interop.BUILD / "epprof", *command, self.folder / "a.epp"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"{command}: {done.stdout}{done.stderr}{self.done.stderr}")
        return done.stdout

    def counts(self):
        """{name: count} of the operations; the trace is valid, and nothing else is left in the folder."""
        self.epprof("validate", "--strict")
        left = [path.name for path in self.folder.iterdir() if path.suffix in (".epp", ".json") or path.name.startswith("a.epp")]
        if left != ["a.epp"]:
            raise AssertionError(f"left in the folder: {left}")
        return {op["name"]: op["count"] for op in json.loads(self.epprof("summary", "--format", "json"))["ops"]}
