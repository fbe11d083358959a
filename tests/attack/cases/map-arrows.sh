# A map of 600 nodes with 72,000 arrows between them ends, and says what it leaves out.
python3 - <<'END'
import sys, os
sys.path.insert(0, os.environ["ATTACK"])
from protobuf import FLOAT, graph, model, node, value_info
x, y = value_info("x", FLOAT, [2]), value_info("y", FLOAT, [2])
names = ["x"]
nodes = []
for i in range(600):
    made = "y" if i == 599 else f"v{i}"
    nodes.append(node("Sum", names[-240:] if i else ["x"], [made]))
    names.append(made)
with open("many.onnx", "wb") as out:
    out.write(model(graph(nodes, [x], [y])))
END
SECONDS_EACH=120 holds localize many.onnx --random 1 -e reference --deadline 10s --format html -o map.html
[ -s map.html ] || { cat out err; fail "there is no map"; }
grep -q 'arrows are drawn' map.html || says 'around the culprit alone' err
