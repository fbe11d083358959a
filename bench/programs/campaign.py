"""Shared by the bench scripts in Python: options, the build, releases; a campaign on an old release and what it found."""
import argparse
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BUILD", os.path.join(ROOT, "build"))
ASSAY = os.path.join(BUILD, "src", "cli", "assay")
DATA = os.environ.get("ASSAY_DATA", os.path.expanduser("~/.local/share/assay"))
RELEASE = "1.12.0"


def parser(head):
    """Options, where --help prints the script's head."""
    return argparse.ArgumentParser(usage=argparse.SUPPRESS, description=head, formatter_class=argparse.RawDescriptionHelpFormatter)


def build(*targets):
    """Configures if needed, builds the program, the engines and these targets."""
    if not os.path.exists(os.path.join(BUILD, "build.ninja")):
        subprocess.run(["meson", "setup", BUILD, ROOT], stdout=subprocess.DEVNULL, check=True)
    subprocess.run(["ninja", "-C", BUILD, "all", *targets], stdout=subprocess.DEVNULL, check=True)


def build_engines(*targets):
    """The same without tests and benches: the program, the engines, of which some are scripts, and these targets."""
    if not os.path.exists(os.path.join(BUILD, "build.ninja")):
        return build(*targets)
    lines = subprocess.run(["ninja", "-C", BUILD, "-t", "targets", "all"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    names = [line.partition(": ") for line in lines if line.startswith("engines/")]
    engines = [name for name, _, rule in names if (name.startswith("engines/assay-") and rule.endswith("_LINKER")) or name.endswith((".js", ".proto"))]
    return subprocess.run(["ninja", "-C", BUILD, "src/cli/assay", *engines, *targets], stdout=subprocess.DEVNULL, check=True)


def fetch(*releases):
    """The releases that are not there yet."""
    missing = [one for one in releases if not os.path.exists(os.path.join(DATA, "onnxruntime", one))]
    if missing:
        subprocess.run([os.path.join(ROOT, "tools", "fetch"), "onnxruntime", *missing], check=True)


def releases(engine, option):
    """The releases of an engine that tools/fetch lists, by --list those that are here and by --available all."""
    lines = subprocess.run([os.path.join(ROOT, "tools", "fetch"), engine, option], stdout=subprocess.PIPE, text=True, check=True).stdout
    return [line.split()[-1] for line in lines.splitlines() if line.strip() and line.split()[-1][0].isdigit()]


def starts(label):
    """Whether the engine takes these settings at all: a release may lack a switch."""
    model = os.path.join(ROOT, "tests", "known-bugs", "resize-nearest-tie", "model.onnx")
    done = subprocess.run([ASSAY, "run", model, "-e", label, "--format", "json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return bool(done.stdout) and json.loads(done.stdout)["results"][0]["outcome"] != "no engine"


def run_json(*command):
    """What an assay command says as JSON; it may find something, but not be in trouble."""
    done = subprocess.run([ASSAY, *command, "--format", "json"], stdout=subprocess.PIPE, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}: status {done.returncode}")
    return json.loads(done.stdout)


def until_we_end(command):
    """The command, which the kernel ends when this script ends, be it killed: nothing goes on fuzzing behind it."""
    return ["setpriv", "--pdeathsig", "TERM", *command]


def fuzz(folder, seconds):
    """Cases for so long; a folder that is there is gone on with."""
    subprocess.run(until_we_end([ASSAY, "fuzz", "-e", f"onnxruntime@{RELEASE}:opt=all", "-e", f"onnxruntime@{RELEASE}:opt=none",
                                 "-o", folder, "--time", f"{seconds}s", "--no-reduce"]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def report(folder, *options):
    """Reduces, bisects and bundles what has no bundle yet; the last line it says before that of the settings."""
    done = subprocess.run(until_we_end([ASSAY, "report", folder, *options]), stdout=subprocess.PIPE, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line and not line.startswith("Settings: ")]
    return lines[-1] if lines else ""


def findings(folder, *options):
    return run_json("findings", folder, *options)["findings"]
