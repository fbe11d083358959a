"""The mistakes that bench/mistakes makes, each one line: command, kind, arguments, what the message must name.

Files are those of mistaken_files.py. `thing` is a regular expression that the message must contain. What follows, where it is needed:
    next      a regular expression of the next step, where the general one of bench/mistakes would accept too much
    env       variables of the environment          nofile    most open files
    user      True: as somebody without rights      stdout    where standard output goes
    makes     a path that may be new afterwards: the output that was asked for, of something that was still worth telling
    full      True: with a full disk at `full/`
"""
ROWS = []
HELP = r"Try 'assay [a-z]+ --help'"
LISTED = r"'assay engines'|there are: |-E\b"
PATH = r"(?i)check|give|name|ls|--help|another|'assay"


def row(command, kind, arguments, thing, **more):
    ROWS.append(dict(command=command, kind=kind, arguments=arguments, thing=thing, **more))


def rows(command, kind, *pairs, **more):
    for arguments, thing in pairs:
        row(command, kind, arguments, thing, **more)


# The program itself.
rows("assay", "command", ("", "command"), ("frobnicate", "frobnicate"), ("comapre relu.onnx -e reference", "comapre"), ("--verbose", "--verbose"),
     ("help frobnicate", "frobnicate"), ("relu.onnx", r"relu\.onnx"), next=r"'assay help'")

# engines
rows("engines", "option", ("--faulst", "--faulst"), ("-e reference", "-e"), ("--deadline soon", "soon"), ("--format yaml", "yaml"), ("--faults=all", "--faults"),
     ("--engines", "--engines"), next=HELP)
rows("engines", "engine", ("onnxrutime", "onnxrutime"), ("reference nobody", "nobody"), ("reference --faults tensorflow", "tensorflow"), next=LISTED)
rows("engines", "engine's name", ("onnxruntime@", "onnxruntime@"), (":opt=none", ":opt=none"), ("''", "''|empty|no name"))
rows("engines", "engine file", ("-E engines/no-section.ini", "no-section.ini:1"), ("-E engines/no-key.ini", "colour"), ("-E engines/no-command.ini", "mine"),
     ("-E engines/memory.ini", "lots"), ("-E engines/quote.ini mine", "mine"), ("-E engines/name.ini", "mine@2"), ("-E engines/bracket.ini", "bracket.ini:1"),
     ("-E engines/binary.ini", "binary.ini"), ("-E engines/line.ini", "line.ini:2"), ("-E engines/launcher.ini", "perhaps"))
rows("engines", "no such file", ("-E engines/typo.ini", r"typo\.ini"), ("-E notes", "notes"), next=PATH)
row("engines", "output", "-o hollow", "hollow", next=PATH)
row("engines", "output", "-o gone/engines.txt", "gone/engines.txt", next=PATH)
row("engines", "no rights", "reference -o locked/engines.txt", "locked/engines.txt", user=True)
row("engines", "disk full", "reference", "write", stdout="/dev/full")
row("engines", "disk full", "reference -o /dev/full", "/dev/full")

# run
rows("run", "option", ("relu.onnx -e reference --sed 3", "--sed"), ("relu.onnx -e reference -k", "-k"), ("relu.onnx -e reference --random", "--random"),
     ("relu.onnx -e reference --random 0", "--random"), ("relu.onnx -e reference --seed abc", "abc"), ("relu.onnx -e reference --random -3", "-3"),
     ("relu.onnx -e reference --memory lots", "lots"), ("relu.onnx -e reference --workers 0", "--workers"), ("relu.onnx -e reference --save csv", "csv"),
     ("relu.onnx -e reference --deadline 0", "--deadline"), ("relu.onnx -e reference --dim 3", "3"), ("relu.onnx -e reference --random 99999999999999999999", "9999"),
     ("relu.onnx -e reference --random 1.5", r"1\.5"), next=HELP)
rows("run", "number of arguments", ("-e reference", "model"), ("relu.onnx add.onnx -e reference", "model"), ("relu.onnx", "engine"), next=HELP)
rows("run", "no such file", ("rellu.onnx -e reference", r"rellu\.onnx"), ("dangling.onnx -e reference", r"dangling\.onnx"),
     ("relu.onnx -e reference --data dta/good", "dta/good"), ("'' -e reference", "model|''"), next=PATH)
rows("run", "kind of file", ("notes -e reference", "notes"), ("relu.onnx -e reference --data relu.onnx", r"relu\.onnx"), ("pipe.onnx -e reference", r"pipe\.onnx"),
     ("digits/samples.npy -e reference", r"samples\.npy"))
rows("run", "broken model", ("broken/empty.onnx -e reference", r"empty\.onnx"), ("broken/cut.onnx -e onnxruntime", r"cut\.onnx"),
     ("broken/text.onnx -e reference", r"text\.onnx"), ("broken/picture.onnx -e reference", r"picture\.onnx"))
rows("run", "invalid model", ("broken/no-graph.onnx -e reference", "graph"), ("broken/unknown-operator.onnx -e onnxruntime", "Reluu"),
     ("broken/arity.onnx -e onnxruntime", "Relu"), ("broken/cycle.onnx -e reference", "cycle|sorted"), ("broken/twice.onnx -e onnxruntime", "'?y'?"),
     ("broken/weights-gone.onnx -e onnxruntime", r"gone\.bin"), ("broken/weights-short.onnx -e reference", r"short\.bin"))
rows("run", "input", ("relu.onnx -e onnxruntime --data data/shape", r"\[3,2\]"), ("relu.onnx -e onnxruntime --data data/double", "float64"),
     ("relu.onnx -e reference --data data/cut", "input_0.npy"), ("sequence.onnx -e reference", "parts"), ("add.onnx -e reference --dim bach=3", "bach"),
     ("tokens.onnx -e onnxruntime --data tokens-data/int32", "int32"), ("shapeless.onnx -e reference", r"\bx\b"))
MISSING = r"input_\d\.pb or \.npy"  # the file that is wanted
rows("run", "missing input", ("relu.onnx -e reference --data data/misspelt", r"\bx\b"), ("add.onnx -e onnxruntime --data add-data/half", r"\bb\b"), next=MISSING)
rows("run", "engine", ("relu.onnx -e onnxrt", "onnxrt"), ("relu.onnx -e onnxruntime@9.9.9", r"9\.9\.9"), ("relu.onnx -e onnxruntime:optt=none", "optt"),
     ("relu.onnx -e onnxruntime:opt=fast", "fast"), ("relu.onnx -e onnxruntime:opt", "opt"), ("relu.onnx -e opencv@all", "opencv"))
row("run", "library", "relu.onnx -e onnxruntime", "/nowhere", env={"ASSAY_LIBRARY_ONNXRUNTIME": "/nowhere/libonnxruntime.so"})
row("run", "engine file", "relu.onnx -E engines/absent.ini -e mine", "/nowhere/engine")
row("run", "engine file", "relu.onnx -E engines/mute.ini -e mine", "mine")
row("run", "output", "relu.onnx -e reference -o outputs", "outputs/reference")
row("run", "output", "lenet5.onnx -e reference --data digits -o digits/samples.npy", r"samples\.npy")
row("run", "output", "relu.onnx -e reference -o thesis.txt", r"thesis\.txt")
row("run", "no rights", "relu.onnx -e reference -o locked/out", "locked", user=True)
row("run", "no rights", "secret.onnx -e reference", r"secret\.onnx", user=True)
row("run", "disk full", "lenet5.onnx -e reference -o full/out", "full", full=True, makes="full*")
row("run", "few open files", "relu.onnx -e reference", "(?i)open files|file descriptors", nofile=6)

# compare
rows("compare", "option", ("relu.onnx -e reference --tolerance 1", "--tolerance"), ("relu.onnx -e reference --rtol tiny", "tiny"),
     ("relu.onnx -e reference --rtol -1", "-1"), ("relu.onnx -e reference --top 0", "--top"), ("relu.onnx -e reference --top 61", "--top"),
     ("relu.onnx -e reference --batch 0", "--batch"), ("relu.onnx -e reference --percent 101", "--percent"), ("relu.onnx -e reference --format xml", "xml"),
     ("relu.onnx -e reference --data digits --random 3", "--random"), ("relu.onnx -e reference --atol nan", "nan"), ("relu.onnx -e reference --fresh=no", "--fresh"),
     ("relu.onnx -e reference --judge -1", "-1"), ("relu.onnx -e reference --data data/good --dim batch=2", "--dim"), next=HELP)
rows("compare", "number of arguments", ("-e reference -e onnxruntime", "model"), ("relu.onnx", "engine"), ("relu.onnx --no-reference -e onnxruntime", "engine"), next=HELP)
rows("compare", "no such file", ("rellu.onnx -e reference", r"rellu\.onnx"), ("relu.onnx gone.onnx -e reference", r"gone\.onnx"),
     ("'*.onxx' -e reference", r"\*\.onxx"), ("lenet5.onnx -e reference --data digitz", "digitz"), next=PATH)
rows("compare", "kind of file", ("digits -e reference", "digits"), ("relu.onnx -e reference --data thesis.txt", r"thesis\.txt"), ("thesis.txt -e reference", r"thesis\.txt"))
rows("compare", "broken model", ("broken/empty.onnx -e onnxruntime", r"empty\.onnx"), ("broken/cut.onnx -e onnxruntime", r"cut\.onnx"),
     ("broken/page.onnx -e onnxruntime", r"page\.onnx"), ("relu.onnx broken/text.onnx -e onnxruntime", r"text\.onnx"))
rows("compare", "invalid model", ("broken/types.onnx -e onnxruntime", "(?i)add|type"), ("broken/shapes.onnx -e onnxruntime", "(?i)matmul"),
     ("broken/dangling.onnx -e onnxruntime", "nothing"), ("broken/no-output.onnx -e onnxruntime", r"\by\b"), ("broken/unknown-operator.onnx -e onnxruntime", "Reluu"),
     ("broken/wrong-weight.onnx -e onnxruntime", r"\bw\b"), ("broken/weights-gone.onnx -e onnxruntime -e opencv", r"gone\.bin"),
     ("broken/weights-outside.onnx -e onnxruntime", r"outside\.bin"), ("broken/far-opset.onnx -e onnxruntime", "999|opset"))
rows("compare", "input", ("relu.onnx -e onnxruntime --data data/shape", r"\[3,2\]"), ("relu.onnx -e onnxruntime --data data/rank", r"\[6\]"),
     ("relu.onnx -e onnxruntime --data data/double", "float64"), ("relu.onnx -e onnxruntime --data data/int32", "int32"),
     ("relu.onnx -e onnxruntime -e opencv --data data/batch", r"\[5,2,3\]"), ("relu.onnx -e onnxruntime --data data/fortran", r"\[3,2\]"),
     ("relu.onnx -e onnxruntime --data data/sets", r"\[2,4\]"), ("relu.onnx -e onnxruntime --data data/double-pb --format json", "float64"),
     ("relu.onnx -e onnxruntime --data data/sequence-pb", "sequence"), ("tokens.onnx -e onnxruntime --data tokens-data/int32", "int32"),
     ("tokens.onnx -e onnxruntime --data tokens-data/float", "float32"), ("tokens.onnx -e onnxruntime --data tokens-data/range", r"\b10\b"),
     ("tokens.onnx -e onnxruntime --data tokens-data/negative --format junit", "-99"), ("add.onnx -e onnxruntime --data add-data/batches", "batch|a|b"),
     ("add.onnx -e onnxruntime --data add-data/counts", r"samples_1|4|5"), ("lenet5.onnx -e onnxruntime --data colours", r"\[\d*,?3,32,32\]"))
rows("compare", "data", ("relu.onnx -e reference --data data/cut-header", "input_0.npy"), ("relu.onnx -e reference --data data/text", "input_0.npy"),
     ("relu.onnx -e reference --data data/structures", "input_0.npy"), ("relu.onnx -e reference --data data/huge", "input_0.npy"),
     ("relu.onnx -e reference --data data/cut-pb", "input_0.pb"))
rows("compare", "missing input", ("relu.onnx -e reference --data data/nothing", r"\bx\b"), ("relu.onnx -e reference --data data/hole", "test_data_set_1"),
     ("relu.onnx -e reference --data data/number", r"\bx\b"), ("relu.onnx -e reference --data data/picture", r"\bx\b"), next=MISSING)
rows("compare", "labels", ("lenet5.onnx -e onnxruntime --data digits-few", "labels.npy"), ("lenet5.onnx -e onnxruntime --data digits-words", "seven"),
     ("lenet5.onnx -e onnxruntime --data digits-uneven", "labels.txt"), ("lenet5.onnx -e onnxruntime --data digits-text-array", "labels.npy"),
     ("lenet5.onnx -e onnxruntime --data digits-none", "labels.txt"), ("lenet5.onnx -e onnxruntime --data digits-objects", "labels.npy"))
rows("compare", "engine", ("relu.onnx -e onnxruntime -e tensorrt", "tensorrt"), ("relu.onnx -e onnxruntime@1.30", r"1\.30"), ("relu.onnx -e onnxruntime,opencv", "onnxruntime,opencv"),
     ("relu.onnx -e onnxruntime:threads=many", "many"), ("relu.onnx -e reference:fault=none-such", "none-such"), ("relu.onnx -e onnxruntime -e onnxruntime:opt=", "opt"))
row("compare", "library", "relu.onnx -e onnxruntime --format json", "/nowhere", env={"ASSAY_LIBRARY_ONNXRUNTIME": "/nowhere/libonnxruntime.so"})
row("compare", "library", "relu.onnx -e onnxruntime", r"thesis\.txt", env={"ASSAY_LIBRARY_ONNXRUNTIME": "thesis.txt"})
rows("compare", "output", ("relu.onnx -e reference -o relu.onnx", r"relu\.onnx"), ("relu.onnx -e reference --data data/good -o data/good/input_0.npy", r"input_0\.npy"),
     ("relu.onnx -e reference -o notes", "notes"), ("relu.onnx -e reference -o gone/result.json", "gone/result.json"),
     ("relu.onnx -e reference --keep thesis.txt", r"thesis\.txt"))
row("compare", "no rights", "relu.onnx -e reference -o locked/result.txt", "locked/result.txt", user=True)
row("compare", "no rights", "relu.onnx -e reference --keep locked/answers", "locked", user=True)
row("compare", "no rights", "relu.onnx -e reference --data secret", "secret", user=True)
row("compare", "disk full", "relu.onnx -e reference --format json -o /dev/full", "/dev/full")
row("compare", "disk full", "lenet5.onnx -e reference --data digits --keep full/answers", "full", full=True, makes="full*")
row("compare", "few open files", "relu.onnx -e reference -e onnxruntime", "(?i)open files|file descriptors", nofile=12)
row("compare", "two mistakes", "rellu.onnx -e onnxrt", r"rellu\.onnx|onnxrt")
row("compare", "two mistakes", "relu.onnx -e onnxruntime@9 --data data/double", "onnxruntime@?.*9|float64")

# conform
rows("conform", "option", ("cases -e reference --mach good", "--mach"), ("cases -e reference --match", "--match"), ("cases -e reference --rtol big", "big"),
     ("cases -e reference --scale -2", "-2"), ("cases -e reference --format html", "html"), ("cases -e reference --dim batch=2", "--dim"), next=HELP)
rows("conform", "number of arguments", ("-e reference", "folder"), ("cases", "engine"), next=HELP)
rows("conform", "no such file", ("casess -e reference", "casess"), ("cases gone -e reference", "gone"), next=PATH)
rows("conform", "kind of file", ("relu.onnx -e reference", r"relu\.onnx"), ("notes -e reference", "notes"), ("hollow -e reference", "hollow"), ("thesis.txt -e reference", r"thesis\.txt"))
row("conform", "name", "cases -e reference --match 'test_conv*'", r"test_conv\*")
rows("conform", "case", ("mistaken/half -e onnxruntime", r"\bb\b|input_1"), ("mistaken/cut-input -e onnxruntime", r"input_0\.pb"), ("mistaken/type -e onnxruntime", "float64"),
     ("mistaken/shape -e onnxruntime --format json", r"\[3,3\]"), ("mistaken/too-many -e onnxruntime", r"input_1\.pb"), ("mistaken/cut-answer -e onnxruntime", r"output_0\.pb"),
     ("mistaken/answers -e onnxruntime --format junit", r"output_1\.pb"), ("mistaken/no-data -e onnxruntime", "test_data_set_0"), ("mistaken/empty -e onnxruntime", r"empty"),
     ("mistaken/unknown-operator -e onnxruntime", "Reluu|onnxruntime"), ("mistaken/weights-gone -e onnxruntime", r"gone\.bin"), ("mistaken/folder-model -e onnxruntime", "folder-model"),
     ("mistaken/no-inputs -e onnxruntime", r"\bx\b|input_0"))
rows("conform", "engine", ("cases -e nobody", "nobody"), ("cases -e onnxruntime@0.1", r"0\.1"), ("cases -e onnxruntime:graph=off", "graph"))
row("conform", "library", "cases -e onnxruntime", "/nowhere", env={"ASSAY_LIBRARY_ONNXRUNTIME": "/nowhere/libonnxruntime.so"})
row("conform", "engine file", "cases -E engines/shell.ini -e mine --deadline 2s", "mine")
row("conform", "output", "cases -e reference -o cases/good/model.onnx", "model.onnx")
row("conform", "output", "cases -e reference -o hollow", "hollow", next=PATH)
row("conform", "no rights", "cases -e reference -o locked/conform.xml", "locked", user=True)

# localize
rows("localize", "option", ("relu.onnx -e reference --methode rate", "--methode"), ("relu.onnx -e reference --method fast", "fast"), ("relu.onnx -e reference --group huge", "huge"),
     ("relu.onnx -e reference --sample 1", "--sample"), ("relu.onnx -e reference --window -1", "-1"), ("relu.onnx -e reference -n two", "two"), next=HELP)
rows("localize", "number of arguments", ("-e onnxruntime", "model"), ("relu.onnx", "engine"), ("relu.onnx -e reference -e onnxruntime -e opencv", "engine"), next=HELP)
rows("localize", "no such file", ("rellu.onnx -e onnxruntime", r"rellu\.onnx"), ("relu.onnx -e onnxruntime --data gone", "gone"), next=PATH)
rows("localize", "broken model", ("broken/cut.onnx -e onnxruntime", r"cut\.onnx"), ("broken/empty.onnx -e onnxruntime", r"empty\.onnx"), ("notes -e onnxruntime", "notes"))
rows("localize", "invalid model", ("broken/unknown-operator.onnx -e onnxruntime", "Reluu"), ("broken/weights-gone.onnx -e onnxruntime", r"gone\.bin"),
     ("broken/types.onnx -e onnxruntime", "(?i)add|type"))
rows("localize", "input", ("relu.onnx -e onnxruntime --data data/shape", r"\[3,2\]"), ("relu.onnx -e onnxruntime --data data/double", "float64"),
     ("tokens.onnx -e onnxruntime --data tokens-data/range", r"\b10\b"), ("add.onnx -e onnxruntime --data add-data/names", r"\bb\b"))
rows("localize", "engine", ("relu.onnx -e onnx", "onnx"), ("relu.onnx -e onnxruntime@1.30.0:opt:none", "opt:none"))
row("localize", "library", "relu.onnx -e onnxruntime", "/nowhere", env={"ASSAY_LIBRARY_ONNXRUNTIME": "/nowhere/libonnxruntime.so"})
row("localize", "output", "relu.onnx -e onnxruntime --format html -o relu.onnx", r"relu\.onnx")
row("localize", "no rights", "relu.onnx -e reference -o locked/map.html --format html", "locked", user=True)

# bisect
rows("bisect", "option", ("cases/good -e onnxruntime --stepp 1", "--stepp"), ("cases/good -e onnxruntime --step 0", "--step"), ("cases/good -e onnxruntime --step half", "half"),
     ("cases/good -e onnxruntime --no-knobs=yes", "--no-knobs"), ("cases/good -e onnxruntime --format junit", "junit"), next=HELP)
rows("bisect", "number of arguments", ("-e onnxruntime", "case"), ("cases/good", "engine"), ("cases/good cases/good -e onnxruntime", "case"),
     ("cases/good -e onnxruntime -e opencv", "engine"), next=HELP)
rows("bisect", "no such file", ("findings/1f3a -e onnxruntime", "findings/1f3a"), ("relu.onnx --data gone -e onnxruntime", "gone"), next=PATH)
rows("bisect", "case", ("notes -e onnxruntime", "notes"), ("hollow -e onnxruntime", "hollow"), ("mistaken/no-data -e onnxruntime", "no-data"), ("mistaken -e onnxruntime", "mistaken"),
     ("mistaken/half -e onnxruntime --no-knobs", r"\bb\b|input_1"), ("mistaken/type -e onnxruntime --no-knobs", "float64"), ("mistaken/cut-input -e onnxruntime", "input_0.pb"))
rows("bisect", "invalid model", ("broken/text.onnx -e onnxruntime", r"text\.onnx"), ("broken/unknown-operator.onnx -e onnxruntime --no-knobs", "Reluu"),
     ("broken/weights-gone.onnx -e onnxruntime --no-knobs", r"gone\.bin"))
rows("bisect", "engine", ("cases/good -e nobody", "nobody"), ("cases/good -e onnxruntime@2", "2"), ("cases/good -e onnxruntime:speed=9 --no-knobs", "speed"))
rows("bisect", "one release", ("cases/good -e dlib --no-knobs", "release|version"), next="(?i)fetch|name|engine|knob")
row("bisect", "output", "relu.onnx -e onnxruntime --no-knobs -o relu.onnx", r"relu\.onnx")

# fuzz
rows("fuzz", "option", ("-e reference -o new --time never", "never"), ("-e reference -o new --time -5", "-5"), ("-e reference -o new --count many", "many"),
     ("-e reference -o new --strategy greedy", "greedy"), ("-e reference -o new --seed 0x5", "0x5"), ("-e reference -o new --opset 5 --count 3", "opset"),
     ("-e reference -o new --opset 99 --count 3", "opset"), ("-e reference -o new --no-prob --count 3", "--no-prob"), ("-e reference -o new --ops --count 3", "--ops|--count"),
     ("-e reference -o new --random 3", "--random"), next="--help|'assay")
rows("fuzz", "number of arguments", ("-e reference --count 3", "-o"), ("-o new --count 3", "engine"), ("relu.onnx -e reference -o new --count 3", r"relu\.onnx"), next=HELP)
rows("fuzz", "operator", ("-e reference -o new --no-probe --count 3 --ops Relu,Convv", "Convv"), ("-e reference -o new --no-probe --count 3 --ops relu", "relu"),
     ("-e reference -o new --count 3 --ops Reluu", "Reluu"), ("-e reference -o new --no-probe --count 3 --ops ''", "operator"), next="'assay |did you mean|--help")
rows("fuzz", "recipe", ("-e reference --replay 'two seed=1'", "two"), ("-e reference --replay 'one seed=x index=12'", "seed=x|x"), ("-e reference --replay ''", "recipe"))
rows("fuzz", "no such file", ("-e reference -o new --no-probe --count 3 --known gone.ini", r"gone\.ini"), next=PATH)
rows("fuzz", "known issues", ("-e reference -o new --no-probe --count 3 --known known.ini", r"known\.ini:1"),
     ("-e reference -o new --no-probe --count 3 --known known-picture.ini", r"known-picture\.ini"))
rows("fuzz", "engine", ("-e onnxrt -o new --count 3", "onnxrt"), ("-e reference -e onnxruntime@3.0 -o new --count 3", r"3\.0"), ("-e onnxruntime:opt=fast -o new --no-probe --count 30", "fast"),
     makes="new*")
row("fuzz", "library", "-e onnxruntime -o new --no-probe --count 30", "/nowhere", env={"ASSAY_LIBRARY_ONNXRUNTIME": "/nowhere/libonnxruntime.so"}, makes="new*")
row("fuzz", "library", "-e onnxruntime --replay 'one seed=1 index=12'", "/nowhere", env={"ASSAY_LIBRARY_ONNXRUNTIME": "/nowhere/libonnxruntime.so"})
row("fuzz", "few open files", "-e reference:round=on -o new --no-probe --count 30", "(?i)open files|file descriptors", nofile=14, makes="new*")
rows("fuzz", "output", ("-e reference -o notes --no-probe --count 3", "notes"), ("-e reference -o . --no-probe --count 3", r"'?\.'?"),
     ("-e reference -o thesis.txt --no-probe --count 3", r"thesis\.txt"), ("-e reference -o campaign-rubbish --no-probe --count 3", "campaign-rubbish"),
     ("-e reference -o campaign-other --no-probe --count 3", "campaign-other"), ("-e reference:round=on -o campaign --no-probe --count 3", "campaign"))
row("fuzz", "no rights", "-e reference -o locked/campaign --no-probe --count 3", "locked", user=True)
row("fuzz", "disk full", "-e reference -o full/campaign --no-probe --count 3", "full", full=True, makes="full*")

# blocks
rows("blocks", "option", ("list --operator", "--operator"), ("list --format html", "html"), ("harvest lenet5.onnx --most few -o new", "few"), ("list -e reference", "-e"), next=HELP)
rows("blocks", "word", ("harvset lenet5.onnx -o new", "harvset"), ("show", "NAME|name"), ("show atention", "atention"), ("harvest -o new", "MODEL|model"), ("harvest lenet5.onnx", "-o"))
rows("blocks", "no such file", ("harvest gone.onnx -o new", r"gone\.onnx"), ("list --blocks gone", "gone"), next=PATH)
rows("blocks", "broken model", ("harvest broken/cut.onnx -o new", r"cut\.onnx"), ("harvest thesis.txt -o new", r"thesis\.txt"), ("harvest notes -o new", "notes"))
row("blocks", "block", "list --blocks blocks-broken", "mine")
row("blocks", "block", "list --blocks blocks-other", "blocks-other")
row("blocks", "block", "list", "blocks-gone", env={"ASSAY_BLOCKS": "blocks-gone"})
row("blocks", "output", "harvest lenet5.onnx -o blocks-mine", "blocks-mine")
row("blocks", "output", "harvest lenet5.onnx -o thesis.txt", r"thesis\.txt")
row("blocks", "no rights", "harvest lenet5.onnx -o locked/blocks", "locked", user=True)

# findings
rows("findings", "option", ("campaign --knd crash", "--knd"), ("campaign --show", "--show"), ("campaign --format junit", "junit"), next=HELP)
rows("findings", "number of arguments", ("", "campaign"), ("campaign campaign-cut", "campaign"), next=HELP)
rows("findings", "campaign", ("notes", "notes"), ("campagn", "campagn"), ("relu.onnx", r"relu\.onnx"), ("campaign-rubbish", "campaign-rubbish"), ("campaign-cut", "campaign-cut"),
     ("campaign-empty", "campaign-empty"), ("campaign-folder", "campaign-folder"), ("campaign-other", "campaign-other"), ("bundle", "bundle"))
rows("findings", "name", ("campaign --show wrong-resize", "wrong-resize"), ("campaign --kind wrnog", "wrnog"), ("campaign --op Convv", "Convv"))
row("findings", "output", "campaign -o campaign/assay.db", r"assay\.db")
row("findings", "no rights", "campaign -o locked/list.txt", "locked", user=True)

# replay
rows("replay", "option", ("bundle --relase 1.30.0", "--relase"), ("bundle --release", "--release"), ("bundle --format yaml", "yaml"), ("bundle -e reference --release 1.30.0", "--release"), next=HELP)
rows("replay", "number of arguments", ("", "bundle"), next=HELP)
rows("replay", "no such file", ("bundel", "bundel"), ("bundle --known gone.ini", r"gone\.ini"), next=PATH)
rows("replay", "bundle", ("notes", "notes"), ("hollow", "hollow"), ("thesis.txt", r"thesis\.txt"), ("cases/good", "cases/good"), ("bundle-no-model", "bundle-no-model"),
     ("bundle-broken", "bundle-broken"), ("campaign-rubbish", "campaign-rubbish"))
rows("replay", "case", ("mistaken/half -e onnxruntime", r"\bb\b|input_1"), ("mistaken/type -e onnxruntime", "float64"), ("mistaken/empty -e onnxruntime", "empty"),
     ("mistaken/unknown-operator -e onnxruntime", "Reluu|skipped"), ("mistaken/no-data -e onnxruntime", "test_data_set_0"), ("mistaken/weights-gone -e onnxruntime --format junit", r"gone\.bin"))
rows("replay", "engine", ("bundle -e nobody", "nobody"), ("bundle --release 77", "77"), ("cases/good -e onnxruntime:op=all", r"\bop\b"))
row("replay", "library", "cases -e onnxruntime", "/nowhere", env={"ASSAY_LIBRARY_ONNXRUNTIME": "/nowhere/libonnxruntime.so"})
row("replay", "output", "cases -e reference -o cases/good/model.onnx", r"model\.onnx")

# report
rows("report", "option", ("campaign --no-reduse", "--no-reduse"), ("campaign --reduce-time slowly", "slowly"), ("campaign --again=1", "--again"), next=HELP)
rows("report", "number of arguments", ("", "campaign"), ("campaign bundle", "campaign"), ("cases/good -e reference:fault=relu-tail", "-o"), ("cases/good -o new", "engine"), next=HELP)
rows("report", "campaign", ("campagn", "campagn"), ("notes", "notes"), ("campaign-rubbish", "campaign-rubbish"), ("campaign-cut", "campaign-cut"), ("campaign-empty", "campaign-empty"),
     ("campaign-other", "campaign-other"), ("hollow", "hollow"), ("campaign --show crash-conv", "crash-conv"))
rows("report", "case", ("mistaken/empty -e onnxruntime -o new", "empty"), ("mistaken/type -e onnxruntime -o new", "float64"), ("mistaken/half -e onnxruntime -o new", r"\bb\b|input_1"),
     ("thesis.txt -e onnxruntime -o new", r"thesis\.txt"), ("mistaken/unknown-operator -e onnxruntime --no-bisect -o new", "Reluu"), ("mistaken/no-data -e onnxruntime -o new", "no-data"))
rows("report", "engine", ("cases/good -e nobody -o new", "nobody"), ("cases/good -e onnxruntime@5 -o new", "5"))
rows("report", "no such file", ("campaign --known gone.ini", r"gone\.ini"), next=PATH)
rows("report", "output", ("bundle -e reference:fault=bn-sqrt-var --no-bisect -o notes", "notes"), ("bundle -e reference:fault=bn-sqrt-var --no-bisect -o .", r"'?\.'?"),
     ("bundle -e reference:fault=bn-sqrt-var --no-bisect -o thesis.txt", r"thesis\.txt"), ("bundle -e reference:fault=bn-sqrt-var --no-bisect -o bundle", "bundle"),
     ("bundle -e reference:fault=bn-sqrt-var --no-bisect -o ..", r"\.\."), ("campaign -o campaign/assay.db", r"assay\.db"))
row("report", "no rights", "bundle -e reference:fault=bn-sqrt-var --no-bisect -o locked/bundle", "locked", user=True)

# reduce
rows("reduce", "option", ("cases/good -e onnxruntime --tim 3", "--tim"), ("cases/good -e onnxruntime --time fast", "fast"), ("cases/good -e onnxruntime -o", "--output|-o"), next=HELP)
rows("reduce", "number of arguments", ("-e onnxruntime", "case"), ("cases/good", "engine"), ("cases/good -e onnxruntime -e opencv", "engine"), next=HELP)
rows("reduce", "no such file", ("gone -e onnxruntime", "gone"), ("relu.onnx -e onnxruntime -d gone", "gone"), next=PATH)
rows("reduce", "case", ("notes -e onnxruntime", "notes"), ("mistaken -e onnxruntime", "mistaken"), ("mistaken/type -e onnxruntime", "float64"), ("mistaken/half -e onnxruntime", r"\bb\b|input_1"),
     ("mistaken/cut-input -e onnxruntime", "input_0.pb"), ("broken/empty.onnx -e onnxruntime", r"empty\.onnx"), ("broken/unknown-operator.onnx -e onnxruntime", "Reluu"))
rows("reduce", "nothing wrong", ("cases/good -e onnxruntime -o new", "onnxruntime"))
rows("reduce", "engine", ("cases/good -e nobody", "nobody"), ("cases/good -e onnxruntime:opt=most", "most"))
rows("reduce", "output", ("bundle -e reference:fault=bn-sqrt-var --time 5s -o notes", "notes"), ("bundle -e reference:fault=bn-sqrt-var --time 5s -o bundle", "bundle"),
     ("bundle -e reference:fault=bn-sqrt-var --time 5s -o .", r"'?\.'?"))
row("reduce", "no rights", "bundle -e reference:fault=bn-sqrt-var --time 5s -o locked/small", "locked", user=True)

# probe
rows("probe", "option", ("-e reference --quik", "--quik"), ("-e reference --seed first", "first"), ("-e reference --format xml", "xml"), ("-e reference -n 3", "-n"), next=HELP)
rows("probe", "number of arguments", ("", "engine"), ("onnxruntime --ops Relu", "onnxruntime"), next=HELP)
rows("probe", "operator", ("-e reference --ops Convv", "Convv"), ("-e reference --ops Relu,conv", "conv"), ("-e reference --ops ,", "--ops|operator"))
rows("probe", "engine", ("-e nobody --ops Relu", "nobody"), ("-e onnxruntime@4 --ops Relu", "4"), ("-e onnxruntime:opt=best --ops Relu --quick", "best"))
row("probe", "library", "-e onnxruntime --ops Relu --quick", "/nowhere", env={"ASSAY_LIBRARY_ONNXRUNTIME": "/nowhere/libonnxruntime.so"})
rows("probe", "nothing kept", ("-e onnxruntime --kept", "onnxruntime"), ("-e onnxruntime --kept --keep notes", "onnxruntime"), next="assay probe")
rows("probe", "output", ("-e reference:round=on --ops Relu --quick -o notes", "notes"), ("-e reference:round=on --ops Relu --quick -o gone/probe.html", "gone/probe.html"))
row("probe", "no rights", "-e reference:round=on --ops Relu --quick -o locked/probe.html --format html", "locked", user=True)
