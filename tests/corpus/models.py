"""Holds every model of an archive against ONNX's checker: models.py FOLDER. Models of newer opsets than the checker's are counted."""
import glob
import sys

import onnx

newest, good, newer = onnx.defs.onnx_opset_version(), 0, 0
for path in sorted(glob.glob(sys.argv[1] + "/cases/*/model.onnx")):
    model = onnx.load(path)
    model.ir_version = min(model.ir_version, onnx.IR_VERSION)  # what an opset has does not depend on it
    if any(row.domain in ("", "ai.onnx") and row.version > newest for row in model.opset_import):
        newer += 1
        continue
    try:
        onnx.checker.check_model(model)
    except Exception as error:
        sys.exit(f"{path}: {error}")
    good += 1
print(f"the checker of ONNX {onnx.__version__} takes {good} models; {newer} are newer than it")
