#!/usr/bin/env bash
# Installs what the tests need besides Python and Node.js, then the packages, then the commit hooks.
set -euo pipefail
cd "$(dirname "$0")/.."
sudo apt-get update -qq
sudo apt-get install --yes -qq --no-install-recommends \
  chromium libharfbuzz-subset0 libpango-1.0-0 libpangoft2-1.0-0 make python3-venv
make setup
.venv/bin/uv tool install --quiet pre-commit
~/.local/bin/pre-commit install
