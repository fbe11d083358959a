# Shared by what builds or tries Assay in a bare Debian: makes such a root and runs commands inside it. Everything inside runs
# in a mount and a PID namespace of its own: when it ends, however it ends, no mount and no process is left. Mirror, proxies and
# npm's registry are the host's. Wants: $scratch, a folder of the caller's.
child=
trap '[ -z "$child" ] || kill -9 "$child" 2>/dev/null; rm -rf --one-file-system "$scratch"' EXIT
trap 'exit 130' INT TERM

fail() { echo "$(basename "$0"): $*" >&2; exit 2; }

# in_background COMMAND...: waited for, but killed when this script ends before it does.
in_background() {
  local status=0
  "$@" </dev/null &
  child=$!
  wait "$child" || status=$?
  child=
  return $status
}

# The host's ways to the network, for apt and npm inside.
find_network() {
  local name
  [ "$(id -u)" = 0 ] || fail "making and entering a root needs root: sudo $0"
  mirror=$(tools/debian-mirror)
  [ -n "$mirror" ] || fail "no Debian mirror in apt's sources"
  environment=(PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 TERM=dumb)
  for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
    [ -z "${!name:-}" ] || environment+=("$name=${!name}")
  done
  certificates=
  if command -v npm >/dev/null; then
    environment+=("npm_config_registry=$(npm config get registry 2>/dev/null)")
    certificates=$(npm config get cafile 2>/dev/null)
    [ -s "$certificates" ] && environment+=(npm_config_cafile=/etc/host-certificates NODE_EXTRA_CA_CERTS=/etc/host-certificates) || certificates=
  fi
  if ! command -v debootstrap >/dev/null; then
    { apt-get -q update && apt-get -q install -y --no-install-recommends debootstrap; } >/dev/null 2>&1 || fail "apt cannot install debootstrap"
  fi
}

# make_root SUITE ROOT [PACKAGE...]: a bare one with these packages, unless it is there already.
make_root() {
  local suite=$1 root=$2 include
  [ ! -e "$root/.ready" ] || return 0
  shift 2
  case $mirror in https:*) set -- ca-certificates "$@" ;; esac
  include=$(IFS=,; echo "$*")
  rm -rf --one-file-system "$root"
  in_background debootstrap --variant=minbase ${include:+--include="$include"} "$suite" "$root" "$mirror" || return
  {
    echo 'Acquire::Check-Valid-Until "false";'
    apt-config dump Acquire::http::Proxy Acquire::https::Proxy
  } >"$root/etc/apt/apt.conf.d/99bench"
  touch "$root/.ready"
}

# kept_root SUITE ROOT NAME [PACKAGE...]: the same, unpacked from the data folder's bare-roots/SUITENAME.tar, where it is kept.
kept_root() {
  local suite=$1 root=$2 cache=${ASSAY_DATA:-$HOME/.local/share/assay}/bare-roots/$1$3.tar
  shift 3
  mkdir -p "$(dirname "$cache")"
  if [ ! -e "$cache" ]; then
    make_root "$suite" "$root" "$@" || return
    tar -C "$root" -cf "$cache.new" .
    mv "$cache.new" "$cache"
  else
    mkdir -p "$root"
    tar -C "$root" -xf "$cache"
  fi
}

# inside ROOT COMMAND: in /root below the root, in namespaces of its own.
inside() {
  local root=$1
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
  [ -z "$certificates" ] || cp -L "$certificates" "$root/etc/host-certificates"
  # shellcheck disable=SC2016 # expanded inside
  in_background unshare --mount --pid --fork --kill-child --propagation private bash -ec '
    root=$1 command=$2
    shift 2
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mkdir -p "$root/.host"
    cd "$root"
    pivot_root . .host
    umount -l /.host
    cd /root
    exec env -i "$@" bash -c "$command"' inside "$root" "$2" "${environment[@]}"
}
