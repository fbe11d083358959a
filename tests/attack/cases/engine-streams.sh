# An answer that flows and does not end meets the deadline once, for each sample: it is counted from the request to the
# last byte.
models good
hostile stream
start=$SECONDS
holds run good.onnx --random 2 "${engines[@]}" --deadline 2s
[ $((SECONDS - start)) -lt 15 ] || fail "two samples at 2 s took $((SECONDS - start)) s"
says 'no answer within 2 s' out err
