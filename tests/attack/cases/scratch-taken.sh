# Somebody makes the folders that Assay might want in the temporary folder before it does: a file, a folder of others, a
# link. Names are drawn, so that engines start all the same, and nothing there is touched.
models good
mkdir taken elsewhere
echo 1 >elsewhere/kept
for name in "assay-$(id -u)" "assay-scratch-$(id -u)"; do
    : >"taken/$name"
    for letters in "" a aaaaaa XXXXXX; do ln -s "$PWD/elsewhere" "taken/$name-$letters"; done
done
TMPDIR=$PWD/taken holds run good.onnx --random 1 -e identity
[ "$status" = 0 ] || { cat out err; fail "engines do not start"; }
[ -e elsewhere/kept ] || fail "a folder that a link leads to was removed"
[ "$(find taken -mindepth 1 ! -type l ! -type f | wc -l)" = 0 ] || fail "folders are left"
