"""Makes runtime/anonymize/onnx_ops.def: the standard operator names of ONNX, which `epprof anonymize --keep-ops` keeps.

    pip install onnx && python3 packaging/onnx_ops.py >runtime/anonymize/onnx_ops.def
"""
import onnx
import onnx.defs

DOMAINS = ("", "ai.onnx.ml")  # the standard's own; those of previews may still change their names

names = sorted({schema.name for schema in onnx.defs.get_all_schemas() if schema.domain in DOMAINS})
print(f"/* {len(names)} operators of ONNX {onnx.__version__}, sorted; made by packaging/onnx_ops.py. */")
for name in names:
    print(f'"{name}",')
