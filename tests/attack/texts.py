"""Texts that harm who shows them as they are: a title and colours for the terminal, a cleared screen, C1 controls,
turned directions, tags, HTML, and Markdown that ends its block."""
PARTS = {
    "escaped": "\\<b>x\\</b> \\<img src=x onerror=alert(3)> \\![i](http://example.org/i) **strong** _em_ <!-- c --> &lt;b&gt;",
    "title": "\x1b]0;TITLE\x07",
    "colour": "\x1b[31mRED\x1b[2J",
    "c1": "\u009b31mC1\u0085",
    "cursor": "\r\b",
    "html": "<script>alert(1)</script><img src=x onerror=alert(2)>",
    "markdown": "![i](http://example.org/i) [x](javascript:alert(1)) `tick` *bold* | cell",
    "definition": "\n\n[x]: http://example.org/ \n> quotation\n1. list\n\n    indented\n---\n",
    "block": "\n```\n# HEADING\n\n| a | b |\n",
    "quotes": "\"q\" 's' &amp; \\",
    "turned": "\u202eturned\u2066\u200f",
    "hidden": "\ufeff\u2028\U000e0041",
}
# Everything; and what may stand in one line.
ALL = "".join(PARTS.values())
LINE = ALL.replace("\n", " ")
# What is neither a control nor hidden, and so may be the name of a value.
NAME = "a`b```<img src=x onerror=alert(2)>![i](http://example.org/i)[x](y)*b*|c|\"'\\&lt;#"
NOT_UTF8 = b"\xff\xfe\xc0\x80"
