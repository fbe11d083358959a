# Greedy decoding with a key-value cache: tokens, the head at fault, JSON, mistakes.
cp "$source"/models/language/tiny/llama-*-float32.onnx .
# disturb NODE@HOW:HEAD as metadata: field 14 of the model, two texts
plant() { # FROM TO TEXT
    local size=$((${#3} + 11))
    cp "$1" "$2"
    printf '\162\\x%02x\n\7disturb\22\\x%02x%s' "$size" "${#3}" "$3" | { read -r -d '' text; printf '%b' "$text"; } >>"$2"
}
assay decode llama-17-float32.onnx -e reference:round=on -e reference:round=on --steps 4 --prompt 3,17,4
plant llama-17-float32.onnx head.onnx '/model/layers.1/self_attn/Softmax@neighbour:2'
assay decode head.onnx -e reference:round=on -e reference:disturb=on --steps 2
plant llama-23-float32.onnx attention.onnx '/model/layers.2/self_attn/Attention@scaled:0'
assay decode attention.onnx -e reference:disturb=on --steps 1 --judge 1 --format json | sed -E '/_ns"/s/[0-9]+/N/'
assay decode llama-17-float32.onnx -e reference:round=on --steps 130 --judge 1
assay decode llama-17-float32.onnx -e reference:round=on --steps 100000
assay decode llama-17-float32.onnx -e reference:round=on --prompt 3,x
assay decode llama-17-float32.onnx -e reference:round=on --prompt 3,96
assay decode llama-17-float32.onnx -e reference:round=on --ids tokens
assay decode llama-17-float32.onnx -e reference:round=on --logits scores
assay decode llama-17-float32.onnx
model plain.onnx <<'END'
<ir_version: 8, opset_import: ["" : 17]>
plain (int64[1,s] input_ids) => (float[1,s] logits)
{
  logits = Cast <to = 1> (input_ids)
}
END
assay decode plain.onnx -e reference:round=on
model other.onnx <<'END'
<ir_version: 8, opset_import: ["" : 17]>
other (int64[1,s] input_ids, float[1] temperature, float[1,2,p,4] past_0) => (float[1,s] logits, float[1,2,p,4] present_0)
{
  f = Cast <to = 1> (input_ids)
  logits = Mul (f, temperature)
  present_0 = Identity (past_0)
}
END
assay decode other.onnx -e reference:round=on
