#!/usr/bin/env python3
"""Kineto's JSON in Holistic Trace Analysis: two ranks of a job whose every time is known."""
import json
import unittest
import warnings

import interop
import viewers

viewers.in_environment(*viewers.HTA, alone=viewers.HTA_ALONE)

warnings.filterwarnings("ignore")
from hta.trace_analysis import TraceAnalysis

LAUNCHES = 50
STEP_US = 100
LAUNCH_US, DELAY_US = 5, 12  # how long a launch takes, how long after its begin its kernel starts
KERNEL_US = {"gemm": 40, "Memcpy HtoD": 20}


def job(rank):
    """Operators that launch a kernel and a copy each, as a trace of Chrome's."""
    events = [{"ph": "X", "cat": "user_annotation", "name": "train", "pid": 100 + rank, "tid": 1, "ts": 0,
               "dur": LAUNCHES * STEP_US}]
    for i in range(LAUNCHES):
        start = i * STEP_US
        events.append({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 100 + rank, "tid": 1, "ts": start, "dur": 60})
        for j, (name, launch) in enumerate((("gemm", "cudaLaunchKernel"), ("Memcpy HtoD", "cudaMemcpyAsync"))):
            at, correlation = start + 2 + j * 45, 2 * i + j + 1
            events.append({"ph": "X", "cat": "cuda_runtime", "name": launch, "pid": 100 + rank, "tid": 1, "ts": at,
                           "dur": LAUNCH_US, "args": {"correlation": correlation}})
            events.append({"ph": "X", "cat": "gpu_memcpy" if j else "kernel", "name": name, "pid": 0, "tid": 7,
                           "ts": at + DELAY_US, "dur": KERNEL_US[name] + rank * (1 - j),
                           "args": {"correlation": correlation, "device": 0, "stream": 7}})
    return json.dumps({"traceEvents": events})


class Hta(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = interop.scratch() / "job"
        directory.mkdir()
        for rank in range(2):
            trace = viewers.imported(f"rank{rank}", job(rank))
            viewers.convert(trace, "kineto", "--rank", str(rank), "--world-size", "2").rename(directory / f"rank{rank}.json")
        cls.analysis = TraceAnalysis(trace_dir=str(directory))

    def test_the_ranks_are_told_apart(self):
        self.assertEqual(sorted(self.analysis.t.traces), [0, 1])

    def test_kernel_breakdown(self):
        kinds, kernels = self.analysis.get_gpu_kernel_breakdown(visualize=False)
        sums = {(row["name"], row["rank"]): row["sum (us)"] for _, row in kernels.iterrows()}
        self.assertEqual(sums[("gemm", 0)], LAUNCHES * 40)
        self.assertEqual(sums[("gemm", 1)], LAUNCHES * 41)
        self.assertEqual(sums[("Memcpy HtoD", 0)], LAUNCHES * 20)
        self.assertEqual({row["kernel_type"] for _, row in kinds.iterrows()} & {"COMPUTATION", "MEMORY"},
                         {"COMPUTATION", "MEMORY"})

    def test_temporal_breakdown(self):
        times = self.analysis.get_temporal_breakdown(visualize=False).set_index("rank")
        self.assertEqual(times.loc[0, "compute_time(us)"], LAUNCHES * 40)
        self.assertEqual(times.loc[0, "non_compute_time(us)"], LAUNCHES * 20)
        self.assertEqual(times.loc[1, "compute_time(us)"], LAUNCHES * 41)

    def test_idle_time_breakdown(self):
        idle = self.analysis.get_idle_time_breakdown(ranks=[0, 1], visualize=False)[0]
        total = idle[idle["rank"] == 0]["idle_time"].sum()
        # Between the first kernel's start and the last one's end: 45 from kernel to copy, 100 from kernel to kernel.
        self.assertEqual(total, LAUNCHES * 5 + (LAUNCHES - 1) * 35)
        self.assertGreater(idle[idle["idle_category"] == "host_wait"]["idle_time"].sum(), 0)

    def test_launch_statistics(self):
        for rank, launches in self.analysis.get_cuda_kernel_launch_stats(ranks=[0, 1], visualize=False).items():
            self.assertEqual(len(launches), 2 * LAUNCHES)
            self.assertEqual(set(launches["cpu_duration"]), {LAUNCH_US})
            self.assertEqual(set(launches["gpu_duration"]), {40 + rank, 20})
            self.assertEqual(set(launches["launch_delay"]), {DELAY_US - LAUNCH_US})


if __name__ == "__main__":
    interop.main()
