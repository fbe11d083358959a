# For the tools that fetch from npm: to be sourced by bash, behind progress.sh, by who has the functions say and fail.

protobufjs=8.8.1 # what the SDK for adapters in JavaScript needs

# Registry and mirror names are the host's business: messages of npm and apt are shown without them.
without_hosts() { sed -E 's#[a-z]+://[^ ]*/##g; s#[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*\.[a-z]{2,}(:[0-9]+)?/##g' | tail -n 5; }

# npm_versions PACKAGE LEAST: its releases 1.LEAST.x and later, one on each line.
npm_versions()
{
    npm view "$1" versions --json 2>"$scratch/log" | grep -oE '"1\.[0-9]+\.[0-9]+"' | tr -d '"' |
        awk -F. -v least="$2" '$2 >= least'
}

# npm_sizes PACKAGE DISK: of each version on standard input a line with it, the size of its package, and DISK, what is kept of one; in MB.
npm_sizes()
{
    npm_config_registry=${npm_config_registry:-$(npm config get registry 2>/dev/null)} python3 - "$1" "$2" <(cat) <<'END'
import os, ssl, sys, urllib.request
name, disk, versions = sys.argv[1:]
registry = (os.environ.get("npm_config_registry") or "https://registry.npmjs.org").rstrip("/")
trust = ssl.create_default_context(cafile=os.environ.get("npm_config_cafile"))
with open(versions, encoding="utf-8") as file:
    for version in file.read().split():
        place = f"{registry}/{name}/-/{name.split('/')[-1]}-{version}.tgz"
        with urllib.request.urlopen(urllib.request.Request(place, method="HEAD"), context=trust, timeout=60) as reply:
            print(version, round(int(reply.headers.get("Content-Length") or 0) / 1e6, 1), disk)
END
}

# missing_sizes PACKAGE DISK FILE: the same of those on standard input that have no FILE in the data folder, where @ stands for the version.
missing_sizes()
{
    local version
    while read -r version; do
        [ -s "$data/${3//@/$version}" ] || echo "$version"
    done | npm_sizes "$1" "$2"
}

# take ARGUMENT: what take_all gives a tool that has releases of one package: the functions known_versions, sizes and fetch_release, and
# the list test_versions.
take()
{
    local versions version
    case $1 in
    --sizes | --available)
        new_scratch
        if [ "$1" = --sizes ]; then sizes; else known_versions; fi || { fail "npm does not answer; see 'npm ping'" || exit 1; }
        return
        ;;
    --newest) versions=${test_versions[-1]} ;;
    --tests) versions=${test_versions[*]} ;;
    all)
        new_scratch
        versions=$(known_versions) || { fail "npm does not answer; see 'npm ping'" || exit 1; }
        ;;
    -*) usage >&2; exit 2 ;;
    *) versions=$1 ;;
    esac
    fetch_sdk || { failed=1; return; }
    for version in $versions; do fetch_release "$version" || failed=1; done
}

# pack PACKAGE VERSION: it as PACKAGE-VERSION.tgz in this folder (of @scope/name, scope-name), by npm or, where that is not installed (in Debian
# it brings 340 packages), from the same registry by Python, with the same check of the hash that the registry states.
pack()
{
    if command -v npm >/dev/null; then
        npm pack --silent "$1@$2"
        return
    fi
    command -v python3 >/dev/null || fail "neither npm nor python3 is here; run tools/setup" || return
    python3 - "$1" "$2" <<'END'
import base64, hashlib, json, os, ssl, sys, urllib.request
name, version = sys.argv[1:]
registry = os.environ.get("npm_config_registry", "https://registry.npmjs.org").rstrip("/")
trust = ssl.create_default_context(cafile=os.environ.get("npm_config_cafile"))
def get(path):
    with urllib.request.urlopen(f"{registry}/{name}/{path}", context=trust, timeout=60) as reply:
        return reply.read()
algorithm, _, stated = json.loads(get(version))["dist"]["integrity"].partition("-")
package = get(f"-/{name.split('/')[-1]}-{version}.tgz")
if base64.b64encode(hashlib.new(algorithm, package).digest()).decode() != stated:
    sys.exit(f"{name}@{version}: not what the registry says it is")
with open(f"{name.lstrip('@').replace('/', '-')}-{version}.tgz", "wb") as file:
    file.write(package)
END
}

# Packages of exact versions with what they depend on, into $scratch/node_modules.
install()
{
    command -v npm >/dev/null || fail "npm is missing; run tools/setup" || return
    new_scratch
    if ! with_progress "$*" "$scratch" "$scratch/log" npm install --prefix "$scratch" --save-exact --no-package-lock \
        --no-audit --no-fund --ignore-scripts "$@"; then
        without_hosts <"$scratch/log" >&2
        fail "npm has no $*, or is out of reach; 'npm view ${1%@*} versions' lists them"
        return
    fi
}

fetch_sdk()
{
    [ ! -f "$data/js/node_modules/protobufjs/package.json" ] || return 0
    install "protobufjs@$protobufjs" || return
    plain_files "$scratch/node_modules" "$scratch/taken"
    rm -rf "$data/js"
    mkdir -p "$data/js"
    mv "$scratch/taken" "$data/js/node_modules"
    say "protobufjs $protobufjs is in $data/js"
}

# plain_files FROM TO FIND-EXPRESSION...: the plain files of a folder that match, and no links, in a new folder.
plain_files()
{
    local from=$1 to=$2
    shift 2
    mkdir "$to"
    (cd "$from" && find . -type f "$@" -print0) | tar -C "$from" --null --files-from=- -cf - | tar -C "$to" -xf -
}

# llama_release NAME VERSION PATTERN...: llama.cpp's libraries of these names, as the package @node-llama-cpp/linux-x64 of that version brings
# them, in $data/NAME/VERSION.
llama_release()
{
    local name=$1 version=$2 folder=$data/$1/$2 package=@node-llama-cpp/linux-x64 start=$SECONDS
    shift 2
    [ ! -f "$folder/package.json" ] || return 0
    [[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "'$version' is not a release; say e.g. 3.22.1" || return
    new_scratch
    if ! (cd "$scratch" && with_progress "$package $version" . log pack "$package" "$version"); then
        without_hosts <"$scratch/log" >&2
        fail "npm has no $package@$version, or is out of reach; 'tools/fetch $name --available' lists them"
        return
    fi
    "$tools/take-files" "$scratch/node-llama-cpp-linux-x64-$version.tgz" "$scratch/taken" 'package\.json' 'LICENSE' \
        'bins/linux-x64/_nlcBuildMetadata\.json' "${@/#/bins/linux-x64/}" 2>"$scratch/log" ||
        fail "$package@$version has no $name: $(head -n 1 "$scratch/log")" || return
    mv "$scratch/taken/bins/linux-x64"/* "$scratch/taken"
    rm -r "$scratch/taken/bins"
    mkdir -p "$data/$name"
    mv "$scratch/taken" "$folder"
    say "$name $version is in $folder; downloaded in $((SECONDS - start)) s"
}

# llama_list NAME: which of them are here.
llama_list()
{
    local package
    echo "data folder: $data"
    for package in $(ls -d "$data/$1"/*/package.json 2>/dev/null | sort -V); do
        echo "release:     $(basename "${package%/package.json}")"
    done
}
