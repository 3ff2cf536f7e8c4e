"""Holistic Trace Analysis: what it counts of the traces in a folder.  In an environment with HTA: hta_tool.py FOLDER prints, as JSON,
{"ranks": [rank, ...], "kernels": {name: microseconds in all}}.  With --times also what it makes of the first rank: "counts" of
kernels by name, the "temporal" breakdown in microseconds, and "idle" time by stream and category."""
import json
import sys
import warnings


def times(analysis):
    trace = analysis.t.get_trace(0)
    names = analysis.t.symbol_table.get_sym_table()
    counts = trace[trace["stream"] >= 0].groupby("name").size()
    temporal = analysis.get_temporal_breakdown(visualize=False).iloc[0]
    idle = analysis.get_idle_time_breakdown(ranks=[0], visualize=False)[0]
    return {"counts": {names[name]: int(count) for name, count in counts.items()},
            "temporal": {key: float(value) for key, value in temporal.items() if key.endswith("(us)")},
            "idle": {f"{row['stream']} {row['idle_category']}": float(row["idle_time"]) for _, row in idle.iterrows()}}


def count(folder, with_times):
    warnings.filterwarnings("ignore")
    from hta.trace_analysis import TraceAnalysis
    analysis = TraceAnalysis(trace_dir=folder)
    _, kernels = analysis.get_gpu_kernel_breakdown(visualize=False, num_kernels=1000)
    counted = {"ranks": sorted(analysis.t.traces), "kernels": {row["name"]: float(row["sum (us)"]) for _, row in kernels.iterrows()}}
    return {**counted, **(times(analysis) if with_times else {})}


if __name__ == "__main__":
    json.dump(count(sys.argv[1], sys.argv[2:] == ["--times"]), sys.stdout)
