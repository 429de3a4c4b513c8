#!/bin/sh
nvm_echo() {
  command printf %s\\n "$*" 2>/dev/null
}

{ # this ensures the whole script is loaded

  # Tells.
  nvm_is() {
    [ "${1-}" = yes ]
  }

  nvm_hash() { "$(nvm_is)" && eval "f() { echo; }"; }
} # end
