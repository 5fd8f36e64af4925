#!/bin/sh
# Make a virtual environment with the package and its development tools, on a machine that has Python and make.
# Usage: scripts/setup.sh [folder [constraints file [another extra]]]
set -eu
folder=${1:-.venv}
constraints=${2:-constraints.txt}
extra=${3:-}
python=${PYTHON:-python3}

# Debian and Ubuntu keep venv in a package of its own. It is installed after a question to the person at the terminal;
# without one only root installs it, as in a container of a CI service. Anybody else is told what to type.
install_venv() {
    sudo=$([ "$(id -u)" = 0 ] || echo "sudo ")
    remedy="${sudo}apt-get update && ${sudo}apt-get install -y python3-venv"
    echo "$python cannot make virtual environments: its modules venv and ensurepip are missing." >&2
    if ! command -v apt-get >/dev/null; then
        echo "Install them, or set PYTHON=/path/to/a/python/that/has/them, and try again." >&2
        exit 1
    elif [ -z "$sudo" ] && { [ "${CI:-}" = true ] || [ ! -t 0 ]; }; then
        echo "Running as root: $remedy" >&2
    elif [ -t 0 ] && [ "${CI:-}" != true ]; then
        printf 'Run "%s" now? [y/N] ' "$remedy" >&2
        read -r answer
        case $answer in [yY]*) ;; *)
            echo "Nothing was installed. Run the command above yourself, and try again." >&2
            exit 1
            ;;
        esac
    else
        echo "Run this, and try again: $remedy" >&2
        exit 1
    fi
    sh -c "$remedy"
}

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "expected Python 3.11 or newer, got $("$python" --version 2>&1) from $python; set PYTHON=/path/to/a/newer/one." >&2
    exit 1
}
"$python" -c 'import ensurepip, venv' 2>/dev/null || install_venv
"$python" -m venv "$folder"
echo "Installing gplens and its tools into $folder (a few minutes the first time) ..."
"$folder/bin/python" -m pip install -q --disable-pip-version-check -c "$constraints" -e '.[dev]'
if [ -n "$extra" ]; then # a second step: pip 23 takes botorch[fully-bayesian] and botorch[fully_bayesian] for two things
    "$folder/bin/python" -m pip install -q --disable-pip-version-check -c "$constraints" -e ".[$extra]"
fi
touch "$folder/installed"
