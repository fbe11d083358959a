bugs=$source/tests/known-bugs
assay reduce "$bugs/floor-large-f32" -e onnxruntime@1.12.0 -o small
assay conform small -e onnxruntime@1.12.0 --no-reference
assay reduce "$bugs/relu-clip-double" -e onnxruntime@1.30.0 --format json | sed -E 's#"(text|signature_before|signature)": ".*"#"\1": "..."#; s#"seconds": .*,#"seconds": T,#'
