"""What the tests share: models from ONNX's text form, and folders of the tree."""
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

NET = """<ir_version: 8, opset_import: ["": 13]>
g (float[N, 4] x) => (float[N, 3] y)
<float[4, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, float[3] b = {0.5, -1, 2}>
{ h = MatMul(x, w) t = Add(h, b) y = Relu(t) }
"""


@pytest.fixture(scope="session")
def make(tmp_path_factory):
    """make(TEXT) is the path of the model."""
    folder = tmp_path_factory.mktemp("models")

    def made(text, name=None):
        path = folder / f"{name or len(list(folder.iterdir()))}.onnx"
        subprocess.run([os.environ["TEXT_MODEL"], path], input=text.encode(), check=True)
        return path
    return made


@pytest.fixture(scope="session")
def net(make):
    return make(NET, "net")


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture
def needs(net):
    """needs(ENGINE) skips the test where it is not there."""
    def needed(engine):
        import assay
        import numpy
        try:
            assay.run(engine, net, numpy.ones((1, 4), numpy.float32))
        except assay.AssayError as error:
            if error.status == "not found":
                pytest.skip(str(error))
    return needed
