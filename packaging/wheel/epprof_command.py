"""Starts the command `epprof` of a wheel, in any Python: it imports nothing of the package."""
import os
import sys


def main():
    """Replaces this process by the command, which is in the package's folder beside the libraries."""
    command = os.path.join(os.path.dirname(os.path.abspath(__file__)), "epprof", "lib", "epprof")
    os.execv(command, ["epprof", *sys.argv[1:]])
