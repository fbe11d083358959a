# A secret model whose failure stays: names, metadata, weights in a file of their own, a function, a body, texts.
model secret.onnx <<'EOF'
<ir_version: 8, opset_import: ["": 15, "acme.internal": 1], producer_name: "AcmeTrainer", producer_version: "77.1", model_version: 42,
 doc_string: "Model of the Acme project">
acme_graph (float[batch_of_users,3] user_features) => (float[out_rows,3] secret_scores)
<float[3,3] weight_of_acme = {0.71371, -0.28183, 0.66127, -0.91337, 0.24179, 0.57193, 0.38119, -0.77431, 0.12913},
 float[3] bias_of_acme = {0.314159, 0.271828, -0.57721}, bool flag_of_acme = {1}, int64[1] axes_of_acme = {0}> {
    acme_hidden = Gemm (user_features, weight_of_acme, bias_of_acme)
    acme_called = acme.internal.AcmeBlock (acme_hidden)
    acme_branch = If (flag_of_acme) <
        then_branch = acme_then () => (float[p,3] then_out) { acme_const = Constant <value = float[3] {0.61803, 1.41421, 1.73205}> ()  then_out = Add (acme_called, acme_const) },
        else_branch = acme_else () => (float[p,3] else_out) { else_out = Neg (acme_called) }
    >
    secret_scores = Concat <axis: int = 0> (acme_branch, acme_called, acme_hidden)
}
<opset_import: ["" : 15], domain: "acme.internal"> AcmeBlock (block_input) => (block_output) { block_output = Tanh (block_input) }
EOF
split secret.onnx apart.onnx
fault=reference:fault=concat-three
words='[Aa]cme|secret|user_features|block_|then_out|else_out|77\.1|batch_of|out_rows'
grep -aEc "$words" apart.onnx
assay scramble apart.onnx -n 2 -e $fault -o small.onnx
grep -aEc "$words" small.onnx small.npz
assay compare small.onnx --data small.npz -e $fault | head -n 2
assay scramble apart.onnx -e $fault -o public
ls public
grep -arEc "$words" public | sort
assay conform public -e $fault -e reference --no-reference
assay scramble public -e $fault -o again --format json | sed -E 's#"seconds": .*#"seconds": T,#' | head -n 30
# What the failure needs is named: the very value at which an operator switches, and who made the model.
model switch.onnx <<'EOF'
<ir_version: 7, opset_import: ["": 13]> g (float[4] secret_levels) => (float[4] y) { h = Identity (secret_levels) y = ThresholdedRelu <alpha: float = 0.7136> (h) }
EOF
npy levels.npy '<f4' '4,' '\xc2\x86\x66\x3f\x7d\xae\x36\x3f\x7d\xae\x36\x3f\x00\x00\x80\x3f'
assay scramble switch.onnx --data levels.npy -e reference:fault=thresholdedrelu-ge -o kept
assay scramble switch.onnx --data levels.npy -e reference:fault=thresholdedrelu-ge --keep 'secret_l*' -o kept
grep -arEc secret kept | sort
assay scramble secret.onnx -e reference:fault=producer-workaround -o never
ls never 2>&1
# Mistakes, and nothing to give away.
assay scramble secret.onnx -e reference
assay scramble secret.onnx
assay scramble secret.onnx -e $fault -o secret.onnx
assay scramble secret.onnx -e $fault -o nowhere/small.onnx
