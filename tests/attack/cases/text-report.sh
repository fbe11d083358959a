# What a report quotes of an engine and a model stays in its block: no heading, image, link or HTML of theirs.
models names-markup
hostile version
holds report names-markup.onnx "${engines[@]}" -o bundle
[ "$status" = 1 ] || { cat out err; fail "there is no finding to report"; }
hostile reject-text
holds report names-markup.onnx "${engines[@]}" -o refused
[ "$status" = 1 ] || { cat out err; fail "there is no finding to report"; }
for folder in bundle refused; do
    clean $folder/report.md
    "$ATTACK/markdown" $folder/report.md || { cat $folder/report.md; fail "$folder/report.md has markup of others"; }
done
