"""libepprof_kineto.so, made for the torch of this environment."""
import os
import subprocess

import torch

import interop

PATH = interop.library("libepprof_kineto")


def make():
    # Anew: it was made for another torch, perhaps.
    if os.path.exists(PATH):
        os.remove(PATH)
    made = subprocess.run(
        ["make", "-s", "kineto", f"TORCH={os.path.dirname(torch.__file__)}", f"BUILD={os.environ.get('BUILD', 'build')}"],
        cwd=interop.ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if made.returncode != 0:
        raise RuntimeError(made.stdout)
