# Lists of expected failures, in the forms that teams keep: strict, and written anew with their comments.
cat >filters.jsonc <<'END'
{
    // Tests that are failing temporarily and should be fixed
    "current_failing_tests": [
        "^test_abs", // the identity is no magnitude
        "^test_identity_cpu",
        "^test_vgg19"
    ],
    "current_failing_tests_x86": [
        "^test_shape$"
    ]
}
END
assay conform "$cases/node/test_identity" "$cases/node/test_abs" "$cases/node/test_neg" -e identity --expected filters.jsonc
assay conform "$cases/node/test_identity" "$cases/node/test_abs" "$cases/node/test_neg" -e identity --expected filters.jsonc --format json -o expected.json
sed -n '/^  "expected": {/,/^  },/p' expected.json
assay conform "$cases/node/test_identity" "$cases/node/test_abs" "$cases/node/test_neg" -e identity --expected filters.jsonc --format junit
assay conform "$cases/node/test_identity" "$cases/node/test_abs" "$cases/node/test_neg" -e identity --expected filters.jsonc --update -o first.txt
cat filters.jsonc
assay conform "$cases/node/test_identity" "$cases/node/test_abs" "$cases/node/test_neg" -e identity --expected filters.jsonc
assay conform "$cases/node/test_identity" "$cases/node/test_abs" -e identity --at-least 2 -o second.txt
assay conform "$cases/node/test_identity" -e identity --at-least 2
echo 'tests/test_onnx.py::OnnxBackendNodeModelTest::test_abs_cpu # not yet' >xfails.txt
assay conform "$cases/node/test_identity" "$cases/node/test_abs" -e identity --expected xfails.txt -o third.txt
# Mistakes.
echo '{"failing": ["(test"]}' >bad.jsonc
assay conform "$cases/node/test_abs" -e identity --expected bad.jsonc
assay conform "$cases/node/test_abs" -e identity --expected no-such-file
assay conform "$cases/node/test_abs" -e identity --update
assay conform "$cases/node/test_abs" -e identity -e identity:perturb=1 --expected xfails.txt
