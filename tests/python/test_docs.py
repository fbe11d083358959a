"""The examples of docs/python.md, one after another, beside a model; those marked as not run are left out."""
import re
import shutil

import assay


def test_examples(root, tmp_path, monkeypatch):
    shutil.copy(root / "models/lenet5/lenet5.onnx", tmp_path / "model.onnx")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"(?<!-->\n)```python\n(.*?)```", (root / "docs/python.md").read_text(), re.S)
    assert len(blocks) == 6
    names = {}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), names)
    names["test_my_kernel"](assay.default_judge())
