#!/bin/sh
# Make .venv with the package and its development tools, on a machine that has Python and make.
set -eu
python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "gplens wants Python 3.11 or newer; $python is $("$python" --version 2>&1). Set PYTHON=/path/to/a/newer/one." >&2
    exit 1
}
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then # Debian and Ubuntu keep venv in a package of its own
    echo "Installing Debian's python3-venv, without which $python cannot make virtual environments."
    sudo=$([ "$(id -u)" = 0 ] || echo sudo)
    $sudo apt-get update -q && $sudo apt-get install -qy python3-venv
fi
"$python" -m venv .venv
echo "Installing gplens and its tools into .venv (a few minutes the first time) ..."
.venv/bin/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[dev]'
touch .venv/installed
