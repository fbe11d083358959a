# A model that is cut off while it is read ends the command with a message, not with SIGBUS; so does its external data.
python3 - <<'END'
import sys, os
sys.path.insert(0, os.environ["ATTACK"])
from protobuf import FLOAT, graph, model, node, tensor, value_info
count = 1 << 20
bytes_ = b"\0\0\x80?" * count
x, y = value_info("x", FLOAT, [count]), value_info("y", FLOAT, [count])
with open("whole.onnx", "wb") as out:
    out.write(model(graph([node("Add", ["x", "w"], ["y"])], [x], [y], [tensor("w", FLOAT, [count], bytes_)])))
END
for round in 1 2 3 4 5 6; do
    cp whole.onnx cut.onnx
    ( sleep "0.$round"; truncate -s 100 cut.onnx ) &
    SECONDS_EACH=100 holds localize cut.onnx --random 1 -e reference --deadline 60s
    wait $!
done
