# Help of everything.
assay help
assay --version
for command in engines run compare conform blocks findings replay report probe; do
    assay $command --help
done
assay help conform
assay completion
assay completion zsh
assay completion nowhere
assay complete campaign st
assay complete run model.onnx --data ''
assay complete run model.onnx -e identity
assay complete run model.onnx -E "$bad" -e bad
assay complete run model.onnx -e reference:
assay complete nobody ''
assay help --manual rules
assay help --manual nobody
