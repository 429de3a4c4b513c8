#!/usr/bin/env bash
# Licence text.

set -euo pipefail

# Not next to anything.

readonly NAME="function not_a_function() { :; }"

# Prints usage.
#   More about it.
usage() {
  cat <<EOF
usage: hard
not_in_heredoc() {
  echo no
}
EOF
}

function with_keyword {
  local a=$1
  case "$a" in
    start|stop) helper "$a" ;;
    *) echo "() { }" ;;
  esac
}

function both_forms() {
  echo both
}

dashed-name() { echo dashed; }
dotted.name() { echo dotted; }
function name::spaced { echo colons; }
function _private-thing.v2() { :; }

brace_below()
{
  echo below
}

# A subshell body.
in_subshell() (
  cd /tmp || exit
  pwd
)

test_body() [[ -n $1 ]]

arithmetic_body() (( $1 > 0 ))

if_body() if true; then echo yes; fi

outer() {
  # An inner one.
  inner() {
    innermost() { echo deep; }
    innermost
  }
  inner "$@"
}

if ! command -v tac >/dev/null; then
  tac() { sed '1!G;h;$!d' "$@"; }
fi

case "$(uname)" in
  Darwin)
    opener() { open "$@"; }
    ;;
  *)
    opener() { xdg-open "$@"; }
    ;;
esac

one_line() { echo 1; }; another() { echo 2; }

redirected() {
  echo to file
} >"$LOG" 2>&1

while read -r line; do
  in_loop() { echo "$line"; }
done < <(usage)

# shellcheck disable=SC2086
quoted() {
  echo "${1:-default}" '$(not_a_command)' "$(
    nested_in_substitution() { echo x; }
    nested_in_substitution
  )"
  awk 'function f(x) { return x } { print f($1) }'
}

again() { echo 1; }
again() { echo 2; }

function 9starts_with_digit() { :; }

  indented() {
    :
  }

. ./lib.sh
source "$HOME/other.sh"

trap 'usage' EXIT
main() {
  usage
} # trailing
main "$@"
