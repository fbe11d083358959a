"""docs/notebook.ipynb, whose cells run one after another as a notebook runs them: what the last line gives is shown by its
_repr_html_. NOTEBOOK_PAGE names a file for all that is shown, for those who look at it in a browser."""
import ast
import html.parser
import json
import os

import pytest


class Page(html.parser.HTMLParser):
    """What is read of a page, and whether its tags are balanced."""

    def __init__(self, text):
        super().__init__()
        self.open, self.text, self.frames = [], "", []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.frames += [dict(attrs)] * (tag == "iframe")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data + " "


def run_cell(source, names):
    tree = ast.parse(source)
    shown = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "docs/notebook.ipynb", "exec"), names)
    return eval(compile(ast.Expression(shown.value), "docs/notebook.ipynb", "eval"), names) if shown else None


def test_the_notebook(root, monkeypatch):
    notebook = json.loads((root / "docs/notebook.ipynb").read_text())
    assert notebook["nbformat"] == 4
    monkeypatch.chdir(root / "docs")
    names, pages = {}, []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None, "store it without what it showed"
            shown = run_cell("".join(cell["source"]), names)
            if shown is not None:
                pages.append(shown._repr_html_())
    if "NOTEBOOK_PAGE" in os.environ:
        with open(os.environ["NOTEBOOK_PAGE"], "w", encoding="utf-8") as file:
            file.write("<!doctype html><meta charset=utf-8>" + "<hr>".join(pages))
    read = [Page(page) for page in pages]
    said = ["unjudged (suspect)", "at fault Gemm (/fc1/Gemm)", "output[0,4]: 0.75", "hard bound", "rtol", "reference:round=on agrees"]
    assert len(read) == len(said) + 1
    for page, words in zip(read, said):
        assert words in " ".join(page.text.split()), page.text
        assert "/tmp/" not in page.text  # files that only the command knows
    # The map's scripts draw its heading, and reach nothing outside of the frame.
    [frame] = read[-1].frames
    assert frame["sandbox"] == "allow-scripts" and "<svg" in frame["srcdoc"] and "the inputs given" in frame["srcdoc"]
    Page(names["assay"].localize(names["model"], names["engine"], names["image"])._repr_html_())


def test_bytes_have_no_path(net, tmp_path):
    import assay
    import numpy
    found = assay.compare(net.read_bytes(), "reference:round=on", numpy.ones((1, 4), numpy.float32))
    assert found.answer.startswith("the model is computed correctly") and "from the inputs given" in found.answer
    with pytest.raises(assay.AssayError, match="the model"):
        assay.compare(b"no model", "reference:round=on")
