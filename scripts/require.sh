#!/usr/bin/env bash
# Says in a sentence what this machine lacks: require.sh python|node|disk MB|downloads [LOG]|pdf|browser|backup|proxy|cluster|promtool. `python` prints the one to use. As root on Debian it installs what PDFs, browser tests, the restore drill and the cluster need, and unpacks promtool.
set -u
export DEBIAN_FRONTEND=noninteractive PATH="$PATH:/usr/sbin:/usr/local/sbin"
apt() { timeout "$1" apt-get -qq -o DPkg::Lock::Timeout="$1" "${@:2}" >/dev/null 2>&1; } # waits while another one installs
is_debian() { [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; }
# The lists may be missing or old: they are asked for only when the first try fails.
install() { apt "$1" install -y --no-install-recommends "${@:2}" || { apt 120 update && apt "$1" install -y --no-install-recommends "${@:2}"; }; }
# FOUND FOR SECONDS LACK PACKAGE...: unless FOUND succeeds, install the packages, and say what is lacking where it still fails.
need() {
  "$1" && return
  if is_debian; then
    echo "installing Debian's ${*:5} for $2"
    install "$3" "${@:5}"
  fi
  "$1" && return
  echo "$4. On Debian: apt-get install ${*:5}" >&2
  exit 1
}
chromium=${CHROMIUM:-/usr/bin/chromium}
free_mb() { df -Pm . | awk 'NR == 2 { print $4 }'; }
case "${1:-}" in
python)
  for python in python3.11 python3.12 python3; do
    if command -v "$python" >/dev/null && "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info[:2] not in ((3, 11), (3, 12)))' 2>/dev/null; then
      echo "$python"
      exit 0
    fi
  done
  found=$(python3 --version 2>/dev/null || echo "no python3")
  case "$found" in
  "Python 3.11."* | "Python 3.12."*)
    echo "$found is here, but without venv. On Debian or Ubuntu: apt-get install python3-venv" >&2
    exit 1
    ;;
  esac
  echo "Python 3.11 or 3.12 with venv is missing (found: $found). On Debian 12 or Ubuntu 24.04: apt-get install python3 python3-venv" >&2
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
disk)
  if [ "$(free_mb)" -lt "$2" ]; then
    echo "The disk is nearly full: $(free_mb) MB are free in $(pwd) and $2 MB are needed. Free some, then run this again." >&2
    exit 1
  fi
  ;;
downloads)
  # After an installation that failed.
  if [ "$(free_mb)" -lt 100 ]; then
    echo "The disk is full: $(free_mb) MB are free in $(pwd). Free some, then run this again." >&2
  else
    echo "Packages could not be installed: check the network and the package index of pip, uv (UV_DEFAULT_INDEX) or npm, then run this again (details: ${2:-above})." >&2
  fi
  exit 1
  ;;
pdf)
  has() { ldconfig -p 2>/dev/null | grep -q "$1"; }
  has_pango() { has libpango-1.0.so.0 && has libpangoft2-1.0.so.0; }
  packages="libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0" # a list of words
  if is_debian; then
    if ! has_pango; then
      install 60 $packages
    elif ! has libharfbuzz-subset.so.0; then
      apt 20 install -y --no-install-recommends $packages # it only makes printing faster
    fi
  fi
  if ! has_pango; then
    echo "Statements as PDF will be refused: Pango is missing. On Debian or Ubuntu: apt-get install $packages. All else works without." >&2
    exit 1
  fi
  ;;
browser)
  has_browser() { [ -x "$chromium" ]; }
  need has_browser "the tests of the console" 300 "Chromium is missing (no $chromium, or another that CHROMIUM names); the tests of the console run in it" chromium
  ;;
backup)
  has_backup() { ls /usr/lib/postgresql/*/bin/pg_ctl >/dev/null 2>&1 && command -v pgbackrest >/dev/null; }
  need has_backup "the restore drill" 300 "Postgres or pgBackRest is missing; the restore drill needs both" postgresql pgbackrest
  ;;
proxy)
  has_proxy() { command -v haproxy >/dev/null; }
  need has_proxy "the tests of the proxy" 120 "HAProxy is missing; the API is tested behind it" haproxy
  ;;
cluster)
  has_cluster() {
    for tool in etcd patroni haproxy pgbouncer curl iptables; do command -v "$tool" >/dev/null || return; done
    [ -x /usr/lib/postgresql/15/bin/postgres ] && [ -e /usr/lib/python3/dist-packages/etcd ]
  }
  policy=/usr/sbin/policy-rc.d # what dpkg asks before it starts a service: no
  if is_debian && ! has_cluster && [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod 755 "$policy"
    trap 'rm "$policy"' EXIT
  fi
  need has_cluster "a database of three nodes" 300 "A program of the cluster is missing" postgresql-15 patroni etcd-server python3-etcd haproxy pgbouncer curl iptables
  ;;
promtool)
  # Of Debian's package prometheus the one program alone, into .build: the server is neither installed nor started.
  folder="$(cd "$(dirname "$0")/.." && pwd)/.build/promtool"
  [ -x "$folder/usr/bin/promtool" ] && exit 0
  command -v promtool >/dev/null && exit 0
  if command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null; then
    echo "unpacking promtool of Debian's prometheus for the tests of the alerts"
    mkdir -p "$folder" && cd "$folder" || exit 1
    apt 300 download prometheus || { apt 120 update && apt 300 download prometheus; }
    for package in prometheus_*.deb; do [ -f "$package" ] && dpkg-deb -x "$package" . && rm "$package"; done
    rm -f usr/bin/prometheus
  fi
  if [ ! -x "$folder/usr/bin/promtool" ]; then
    echo "promtool is missing; the stories of the alerts evaluate the rules by it. On Debian: apt-get install prometheus" >&2
    exit 1
  fi
  ;;
*)
  echo "usage: require.sh python|node|disk MB|downloads [LOG]|pdf|browser|backup|proxy|cluster|promtool" >&2
  exit 2
  ;;
esac
