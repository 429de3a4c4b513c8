#!/bin/sh
# The main job on a real repository, visibly: init, commits, status, search, verify.
# Everything happens in temporary folders and is removed at the end.
# usage: tour.sh [REPOSITORY]   a path or URL to clone; default: pallets/flask, else this repository
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/nibd-tour-XXXXXX")
PATH=$here/.venv/bin:$PATH
export PATH HOME="$scratch/home" XDG_CONFIG_HOME="$scratch/config" XDG_STATE_HOME="$scratch/state" \
    XDG_CACHE_HOME="$scratch/cache" XDG_RUNTIME_DIR="$scratch/run" \
    GIT_AUTHOR_NAME=Tour GIT_AUTHOR_EMAIL=tour@example.org \
    GIT_COMMITTER_NAME=Tour GIT_COMMITTER_EMAIL=tour@example.org
mkdir -p "$HOME" "$XDG_RUNTIME_DIR"
trap 'nibd stop >/dev/null 2>&1 || true; rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
run() { printf '$ %s\n' "$*"; "$@"; }

clone() { git clone --quiet "$1" "$scratch/repository"; }
say 'A real repository'
if [ $# -gt 0 ]; then
    clone "$1"
elif ! GIT_TERMINAL_PROMPT=0 timeout 60 git clone --quiet https://github.com/pallets/flask \
    "$scratch/repository" 2>/dev/null; then
    rm -rf "$scratch/repository"
    clone "$here"
fi
cd "$scratch/repository"
printf '%s files, %s commits\n' "$(git ls-files | wc -l)" "$(git rev-list --count HEAD)"

say 'Register it, install the hooks, build the views'
run nibd init
run nibd status

say 'Ask for text and for symbols'
run nibd search 'parse the configuration file' -k 3
name=$(nibd search 'load configuration' -k 20 --json | python3 -c '
import json, sys
print(next((hit["name"] for hit in json.load(sys.stdin)["hits"] if hit["name"]), "main"))')
run nibd symbols "$name"

say 'Commit as usual: the hook tells the daemon, which repairs what changed'
printf '\n\ndef whistle_for_the_tour(volume):\n    """Whistle loudly in the hills."""\n    return volume * 2\n' >>tour_example.py
git add tour_example.py
run git commit --quiet -m 'Whistle'
run nibd wait --timeout 60
run nibd search 'whistle loudly in the hills' -k 1
run git mv tour_example.py tour_renamed.py
run git commit --quiet -m 'Rename'
run nibd wait --timeout 60
run nibd symbols whistle_for_the_tour

say 'Is what was repaired what a rebuild from nothing would give?'
run nibd verify --view lexical --view structural

say 'Ask for meaning, as far as it is there by now'
run nibd search 'how is a request routed to a function' --plan hybrid -k 3 || true
run nibd status
