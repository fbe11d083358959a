# The program of a report, alone in an empty folder, runs, says what is wrong, and is satisfied with a release that is right.
assay report "$source/tests/known-bugs/floor-large-f32" -e onnxruntime@1.12.0 -o bundle --no-bisect >report.txt
mkdir empty
sed -n '/^```c$/,/^```$/{/^```/d;p}' bundle/report.md >empty/run.c
include=$ASSAY_DATA/include/onnxruntime
for release in 1.12.0 1.30.0; do
    library=$ASSAY_DATA/onnxruntime/$release/libonnxruntime.so
    name=$(readelf -d "$library" | sed -nE 's/.*SONAME.*\[(.*)\]/\1/p')
    ln -sf "$library" "empty/$name"
    (cd empty && cc -w run.c -I "$include" "$library" -lm -o run && LD_LIBRARY_PATH=. ./run | sed -E 's/ -?[0-9.e+]+/ N/g'; echo "[${PIPESTATUS[0]}]")
done
# That in Python compiles, and reads no file.
sed -n '/^```python$/,/^```$/{/^```/d;p}' bundle/report.md >empty/run.py
python3 -c 'import ast, sys; ast.parse(open("empty/run.py").read())' && grep -cE 'open|load|model\.onnx' empty/run.py
