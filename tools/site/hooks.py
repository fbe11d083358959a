"""Hooks of mkdocs for the site (mkdocs.yml): pages of the project that do not lie in docs/, links between them, and a search that
works without a server."""
import glob
import json
import os
import posixpath
import re
import shutil

import mkdocs.contrib.search
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Pages beside docs/, at the same place in the site.
ENGINES = sorted(os.path.relpath(path, ROOT) for path in glob.glob(os.path.join(ROOT, "engines", "*", "README.md")))
BESIDE = ("ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "found/README.md", "bench/README.md", "models/README.md", *ENGINES)
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


def title_of(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.readline().lstrip("# ").strip()


def on_config(config, **_):
    """The section `Engines` has the pages that lie in the engines' folders, by their titles."""
    section = next(entry for entry in config["nav"] if "Engines" in entry)
    section["Engines"] = sorted(({title_of(path): path} for path in ENGINES), key=lambda entry: next(iter(entry)).lower())
    return config


def on_files(files, config, **_):
    for path in BESIDE:
        files.append(File(path, ROOT, config["site_dir"], config["use_directory_urls"]))
    return files


def place_in_site(path):
    """Where a path of the project stands in the site, or None."""
    if path in BESIDE:
        return path
    if path == "README.md":
        return "index.md"
    return path[len("docs/"):] if path.startswith("docs/") and os.path.isfile(os.path.join(ROOT, path)) else None


def rewritten(match, source):
    """A link of a page as it must be in the site: what the site does not have is named, not linked."""
    mark, text, target = match.groups()
    if re.match(r"[a-z]+:|#", target):
        return match[0]
    path, sharp, part = target.partition("#")
    wanted = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    if not os.path.exists(os.path.join(ROOT, wanted)):
        raise PluginError(f"{source}: the link to {target} leads to nothing")
    place, page = place_in_site(wanted), place_in_site(source)
    if place:
        return f"{mark}[{text}]({posixpath.relpath(place, posixpath.dirname(page) or '.')}{sharp}{part})"
    name = text.strip("`")
    return f"`{wanted}`" if wanted.endswith(name) or name.endswith(posixpath.basename(wanted)) else f"{text} (`{wanted}`)"


def on_page_markdown(markdown, page, **_):
    path = page.file.src_path
    source = path if path in BESIDE else f"docs/{path}"
    parts = re.split(r"(^```.*?^```|^~~~.*?^~~~)", markdown, flags=re.M | re.S)  # not in code
    return "".join(part if i % 2 else LINK.sub(lambda match: rewritten(match, source), part) for i, part in enumerate(parts))


def on_post_build(config, **_):
    """The index as a script, which a page that is read from a file may load, and a search that needs no worker."""
    folder = os.path.join(config["site_dir"], "search")
    with open(os.path.join(folder, "search_index.json"), encoding="utf-8") as file:
        index = json.load(file)
    os.remove(os.path.join(folder, "search_index.json"))
    with open(os.path.join(folder, "search_index.js"), "w", encoding="utf-8") as file:
        file.write("var search_index = " + json.dumps(index) + ";\n")
    library = os.path.join(os.path.dirname(mkdocs.contrib.search.__file__), "templates", "search", "lunr.js")
    for path in (library, os.path.join(ROOT, "tools", "site", "search.js")):
        shutil.copy(path, folder)
