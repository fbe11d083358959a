# GGUF files: what is written, what is refused, and files beside models; no engine that reads them is needed.
cp "$source"/models/language/tiny/*.onnx .
assay gguf llama-17-float32.onnx -o f32.gguf
assay gguf llama-23-float32.onnx -o q8.gguf --type q8_0
assay gguf llama-17-float32.onnx -o f32.gguf
assay gguf llama-17-float32.onnx
assay gguf gpt2-17-float16.onnx -o x.gguf
assay gguf llama-21-int4.onnx -o int4.gguf
# Another graph around one product.
model plain.onnx <<'END'
<ir_version: 8, opset_import: ["" : 17]>
plain (int64[1,s] input_ids, float[1,1,p,4] past_0) => (float[1,s,4] logits, float[1,1,p,4] present_0)
<float[3,4] table = {1,2,3,4,5,6,7,8,9,10,11,12}, float[4,4] head = {1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1}>
{
  x = Gather (table, input_ids)
  logits = MatMul (x, head)
  present_0 = Identity (past_0)
}
END
assay gguf plain.onnx -o x.gguf
assay decode llama-17-float32.onnx --gguf f32.gguf -e reference
assay decode llama-17-float32.onnx --gguf none.gguf -e reference -e reference
assay decode llama-17-float32.onnx --gguf llama-17-float32.onnx -e reference -e reference
head -c 700 f32.gguf >cut.gguf
assay decode llama-17-float32.onnx --gguf cut.gguf -e reference -e reference
head -c 20000 f32.gguf >cut.gguf
assay decode llama-17-float32.onnx --gguf cut.gguf -e reference -e reference
# The reference reads no such file.
assay decode llama-17-float32.onnx --gguf f32.gguf -e reference -e reference --steps 1 | sed '/^  layer/,/^  values/d'
