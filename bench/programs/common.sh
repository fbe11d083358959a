# Shared by the bench scripts: --help, a build to measure, and the releases it needs.
BENCH_BUILD=${BUILD:-build}

# --help prints the head of the script.
case ${1-} in
-h | --help)
  sed -n '2,/^[^#]/s/^#\( \|$\)//p' "bench/$(basename "$0")"
  exit 0
  ;;
esac

# bench_build TARGET...: configures if needed, builds the targets and all engines.
bench_build() {
  [ -f "$BENCH_BUILD/build.ninja" ] || meson setup "$BENCH_BUILD" >/dev/null
  ninja -C "$BENCH_BUILD" >/dev/null
  ninja -C "$BENCH_BUILD" "$@" >/dev/null
}

# bench_onnxruntime VERSION...: fetches the releases that are not there yet.
bench_onnxruntime() {
  local version missing=()
  for version in "$@"; do
    [ -e "${ASSAY_DATA:-$HOME/.local/share/assay}/onnxruntime/$version" ] || missing+=("$version")
  done
  [ ${#missing[@]} = 0 ] || tools/fetch onnxruntime "${missing[@]}" >&2
}
