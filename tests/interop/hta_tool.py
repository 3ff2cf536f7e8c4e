"""Holistic Trace Analysis: what it counts of the traces in a folder.  In an environment with HTA: hta_tool.py FOLDER prints, as JSON,
{"ranks": [rank, ...], "kernels": {name: microseconds in all}}."""
import json
import sys
import warnings


def count(folder):
    warnings.filterwarnings("ignore")
    from hta.trace_analysis import TraceAnalysis
    analysis = TraceAnalysis(trace_dir=folder)
    _, kernels = analysis.get_gpu_kernel_breakdown(visualize=False, num_kernels=1000)
    return {"ranks": sorted(analysis.t.traces), "kernels": {row["name"]: float(row["sum (us)"]) for _, row in kernels.iterrows()}}


if __name__ == "__main__":
    json.dump(count(sys.argv[1]), sys.stdout)
