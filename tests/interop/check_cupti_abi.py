#!/usr/bin/env python3
"""The layouts of cupti/cupti_abi.h are those of CUPTI's headers, of CUDA 12 and 13."""
import os
import subprocess
import unittest

import environment
import interop

# The headers of CUDA 12 include some of the compiler's, which are a package of their own from CUDA 13 on.
PACKAGES = ["nvidia-cuda-cupti==13.5.25", "nvidia-cuda-runtime==13.5.37", "nvidia-cuda-crt==13.5.37",
            "nvidia-cuda-cupti-cu12==12.9.79", "nvidia-cuda-runtime-cu12==12.9.79"]
VERSIONS = {
    "13": (["cu13/include"], {"kernel": "Kernel13", "memcpy": "Memcpy7", "memcpy_peer": "MemcpyPtoP4", "memset": "Memset5"}),
    "12": (["cuda_cupti/include", "cuda_runtime/include", "cu13/include"],
           {"kernel": "Kernel9", "memcpy": "Memcpy6", "memcpy_peer": "MemcpyPtoP4", "memset": "Memset4"}),
}
COPY = {"copy_kind": "copyKind", "bytes": "bytes", "start": "start", "end": "end", "device": "deviceId", "context": "contextId",
        "stream": "streamId", "correlation": "correlationId", "graph_node": "graphNodeId", "graph": "graphId"}
FIELDS = {
    "kernel": {"registers": "registersPerThread", "start": "start", "end": "end", "device": "deviceId", "context": "contextId",
               "stream": "streamId", "grid": "gridX", "block": "blockX", "static_shared": "staticSharedMemory",
               "dynamic_shared": "dynamicSharedMemory", "correlation": "correlationId", "name": "name",
               "graph_node": "graphNodeId", "graph": "graphId"},
    "memcpy": COPY,
    "memcpy_peer": COPY,
    "memset": {ours: theirs for ours, theirs in COPY.items() if ours != "copy_kind"},
    "call": {"function": "cbid", "start": "start", "end": "end", "process": "processId", "thread": "threadId",
             "correlation": "correlationId"},
    "external": {"external_kind": "externalKind", "external": "externalId", "correlation": "correlationId"},
}
NUMBERS = {"CUPTI_MEMCPY": "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_MEMSET": "CUPTI_ACTIVITY_KIND_MEMSET",
           "CUPTI_DRIVER": "CUPTI_ACTIVITY_KIND_DRIVER", "CUPTI_RUNTIME": "CUPTI_ACTIVITY_KIND_RUNTIME",
           "CUPTI_CONCURRENT_KERNEL": "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
           "CUPTI_MEMCPY_PEER": "CUPTI_ACTIVITY_KIND_MEMCPY2",
           "CUPTI_EXTERNAL_CORRELATION": "CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION",
           "CUPTI_EXTERNAL_CUSTOM2": "CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2",
           "CUPTI_THREAD_ID_SYSTEM": "CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM",
           "CUPTI_FLUSH_FORCED": "CUPTI_ACTIVITY_FLAG_FLUSH_FORCED",
           "CUPTI_DOMAIN_DRIVER": "CUPTI_CB_DOMAIN_DRIVER_API", "CUPTI_DOMAIN_RUNTIME": "CUPTI_CB_DOMAIN_RUNTIME_API"}


def assertions(structs):
    structs = {**structs, "call": "API", "external": "ExternalCorrelation"}
    for ours, fields in FIELDS.items():
        theirs = f"CUpti_Activity{structs[ours]}"
        yield f"sizeof(struct cupti_{ours}) <= sizeof({theirs})"
        for field, name in fields.items():
            yield f"offsetof(struct cupti_{ours}, {field}) == offsetof({theirs}, {name})"
            yield f"sizeof(((struct cupti_{ours} *)0)->{field}) >= sizeof((({theirs} *)0)->{name})"


class CuptiAbi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            python = environment.python_with(PACKAGES)
        except environment.Unavailable as error:
            raise unittest.SkipTest(str(error)) from error
        cls.packages = next(python.parent.parent.glob("lib/python*/site-packages/nvidia"))

    def compile(self, version, lines):
        folders, structs = VERSIONS[version]
        program = ["#include <cupti.h>", *lines(structs)]
        return subprocess.run(["gcc", "-std=gnu11", "-fsyntax-only",
                               *(f"-isystem{self.packages / folder}" for folder in folders), "-xc", "-"],
                              input="\n".join(program), capture_output=True, text=True, check=False)

    def test_layouts(self):
        header = (interop.ROOT / "cupti" / "cupti_abi.h").read_text()
        structs_only = header[header.index("struct cupti_kernel {"):header.index("typedef void (*cupti_request_fn)")]
        for version in VERSIONS:
            with self.subTest(version):
                done = self.compile(version, lambda structs: [structs_only, "#include <stddef.h>", *(
                    f'_Static_assert({line}, "{line}");' for line in assertions(structs))])
                self.assertEqual(done.returncode, 0, done.stderr[:2000])

    def test_numbers(self):
        ours = subprocess.run(["gcc", f"-I{interop.ROOT}", "-xc", "-", "-o", interop.scratch() / "numbers"], text=True, check=True,
                              input='#include <stdio.h>\n#include "cupti/cupti_abi.h"\nint main(void) {' + "".join(
                                  f'printf("{name} %d\\n", {name});' for name in NUMBERS) + "}")
        self.assertEqual(ours.returncode, 0)
        values = dict(line.split() for line in subprocess.run([interop.scratch() / "numbers"], capture_output=True, text=True,
                                                              check=True).stdout.splitlines())
        for version in VERSIONS:
            with self.subTest(version):
                done = self.compile(version, lambda _: [f'_Static_assert({theirs} == {values[name]}, "{name}");'
                                                        for name, theirs in NUMBERS.items()])
                self.assertEqual(done.returncode, 0, done.stderr[:2000])


if __name__ == "__main__":
    interop.main()
