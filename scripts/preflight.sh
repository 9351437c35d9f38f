#!/usr/bin/env bash
# Says in a sentence what this machine lacks: preflight.sh python|node
set -u
case "${1:-}" in
python)
  for python in python3.11 python3; do
    if command -v "$python" >/dev/null && "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null; then exit 0; fi
  done
  echo "Python 3.11 with venv is missing. On Debian or Ubuntu: apt-get install python3.11 python3.11-venv" >&2
  exit 1
  ;;
node)
  if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
    echo "Node.js 20 or newer with npm is missing (it brings the Solidity compiler, forge and anvil). Install it from your distribution or nodejs.org, then run this again." >&2
    exit 1
  fi
  major=$(node -p 'process.versions.node.split(".")[0]')
  if [ "$major" -lt 20 ]; then
    echo "Node.js $major is too old: 20 or newer is needed (found at $(command -v node))." >&2
    exit 1
  fi
  ;;
*)
  echo "usage: preflight.sh python|node" >&2
  exit 2
  ;;
esac
