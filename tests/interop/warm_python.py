"""A Python that has imported what takes seconds: each program runs in a fork of it, a process of its own."""
import atexit
import json
import subprocess

SERVER = """
import json, os, signal, sys
IMPORTS
for line in sys.stdin:
    program, arguments, environment, output, errors = json.loads(line)
    child = os.fork()
    if not child:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    os._exit(0)
signal.alarm(300)
for number, name in (0, "/dev/null"), (1, output), (2, errors):
    os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND if number else os.O_RDONLY, 0o600), number)
os.environ.clear()
os.environ.update(environment)
sys.argv = [program, *arguments]
sys.path[0] = os.path.dirname(program)
with open(program, encoding="utf-8") as file:
    exec(compile(file.read(), program, "exec"), {"__name__": "__main__"})
"""


class WarmPython:
    def __init__(self, python, imports):
        self.server = subprocess.Popen([python, "-c", SERVER.replace("IMPORTS", imports)],  # pylint: disable=consider-using-with
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        atexit.register(self.server.communicate)  # it ends then

    def run(self, program, arguments, environment, output, errors):
        """Runs a file; its output is appended to two files, which may be the same.  Returns its exit status, or -signal."""
        print(json.dumps([str(program), arguments, environment, str(output), str(errors)]), file=self.server.stdin, flush=True)
        return int(self.server.stdout.readline())
