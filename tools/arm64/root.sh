# For the tools that build for arm64: to be sourced by bash, behind tools/progress.sh.

# Mirror names are the host's business: messages of apt are shown without them.
without_hosts() { sed -E 's#[a-z]+://[^ ]*/##g; s#[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*\.[a-z]{2,}(:[0-9]+)?/##g' | tail -n 5; }

# fetch_arm64_root FOLDER PACKAGE...: the packages of this Debian release for arm64 and all that they need, unpacked into FOLDER, which
# appears when it is whole. Without the C library's headers, which come with the cross compiler.
fetch_arm64_root()
{
    local folder=$1 mirror state suite deb link
    shift
    mirror=$(tools/debian-mirror)
    [ -n "$mirror" ] || fail "no Debian mirror in apt's sources"
    # The compiler's C library is this release's, and so must be the one that the program runs with.
    suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    [ -n "$suite" ] || fail "this is no release of Debian with a name"
    new_scratch
    state=$scratch
    mkdir -p "$state"/{lists/partial,cache/archives/partial,root}
    : >"$state/status"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$state/sources.list"
    local apt=(apt-get -q -y -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::Etc::sourcelist="$state/sources.list"
        -o Dir::Etc::sourceparts=- -o Dir::State::lists="$state/lists" -o Dir::Cache="$state/cache" -o Dir::State::status="$state/status"
        -o Acquire::Check-Valid-Until=false -o Acquire::Languages=none -o APT::Sandbox::User= -o APT::Install-Recommends=false
        -o Debug::NoLocking=true)
    with_progress "the packages of arm64" "$state" "$state/log" "${apt[@]}" update &&
        with_progress "the libraries of arm64" "$state" "$state/log" "${apt[@]}" --download-only install "$@" ||
        { without_hosts <"$state/log" >&2; fail "apt cannot fetch the libraries of arm64 from $suite"; }
    for deb in "$state"/cache/archives/*.deb; do
        case $(basename "$deb") in
        libc6-dev_* | linux-libc-dev_* | libcrypt-dev_* | libnsl-dev_*) ;;
        *) dpkg -x "$deb" "$state/root" ;;
        esac
    done
    # The system's folder is this one, for links as well.
    find "$state/root" -type l -lname '/*' | while read -r link; do
        ln -sfn "$(realpath -ms --relative-to "$(dirname "$link")" "$state/root$(readlink "$link")")" "$link"
    done
    # No maintainer script has chosen among alternatives.
    for link in "$state"/root/usr/lib/aarch64-linux-gnu/openblas-pthread/*.so*; do
        [ ! -e "$link" ] || ln -sfn "openblas-pthread/$(basename "$link")" "$state/root/usr/lib/aarch64-linux-gnu/"
    done
    # qemu-user shows the host's processors, which libraries of arm64 cannot read.
    mkdir -p "$state/root/proc" "$(dirname "$folder")"
    for number in 0 1; do
        printf 'processor\t: %s\nFeatures\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 cpuid\n' $number
        printf 'CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: 0xd07\nCPU revision\t: 0\n\n'
    done >"$state/root/proc/cpuinfo"
    rm -rf "$folder"
    mv "$state/root" "$folder"
    say "the libraries of arm64 are in $folder"
}
