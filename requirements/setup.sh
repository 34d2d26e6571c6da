# Sourced by ./lopsided and ./test with $here (the checkout) and $set_up (run or dev).
# Leaves a .venv with the pinned dependencies; does nothing when they are already there.

# Container images often forbid Python to keep compiled modules; then every command compiles its libraries anew (seconds).
unset PYTHONDONTWRITEBYTECODE

fail() { echo "lopsided: $1" >&2; exit 2; }

find_python() {
  for candidate in "${LOPSIDED_PYTHON:-}" python3 python3.13 python3.12 python3.11 python; do
    [ -n "$candidate" ] || continue
    command -v "$candidate" >/dev/null 2>&1 || continue
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
    found="$("$candidate" -V 2>&1)"
  done
  fail "Python 3.11 or newer is needed, but ${found:-no Python at all} was found; install it (on Debian: apt-get install python3 python3-venv) or name one in LOPSIDED_PYTHON."
}

# A stamp is the requirement file it was installed from, so a change of pins is noticed by comparison.
is_ready() {
  cmp -s "$here/requirements/run.txt" "$here/.venv/ready-run" &&
    cmp -s "$here/pyproject.toml" "$here/.venv/ready-project" &&
    { [ "$set_up" = run ] || { cmp -s "$here/requirements/dev.txt" "$here/.venv/ready-dev" &&
      cmp -s "$here/requirements/torch.txt" "$here/.venv/ready-torch"; }; }
}

pip_install() {
  what=$1
  shift
  "$here/.venv/bin/python" -m pip --disable-pip-version-check install --quiet "$@" 2>"$here/.venv/pip.log" ||
    { tail -n 5 "$here/.venv/pip.log" >&2; fail "pip could not install $what; is a package index reachable? The lines above are from .venv/pip.log."; }
}

install() {
  if ! [ -x "$here/.venv/bin/python" ] || ! "$here/.venv/bin/python" -m pip --version >/dev/null 2>&1; then
    python=$(find_python) || exit 2
    "$python" -c 'import venv, ensurepip' 2>/dev/null ||
      fail "the venv module of $("$python" -V) is missing; on Debian: apt-get install python3-venv."
    echo "lopsided: making .venv with $("$python" -V) ..." >&2
    rm -rf "$here/.venv"
    "$python" -m venv "$here/.venv" || fail "could not make $here/.venv; is the directory writable and the disk not full?"
  fi
  echo "lopsided: installing the pinned dependencies (once; a minute or two) ..." >&2
  if [ "$set_up" = run ]; then
    pip_install "requirements/run.txt" --require-hashes -r "$here/requirements/run.txt"
  else
    # dev.txt is complete but for PyTorch, so nothing is left to resolve; and of its 20,000 modules a run uses a few.
    pip_install "requirements/dev.txt" --require-hashes --no-deps --no-compile -r "$here/requirements/dev.txt"
    pip_install "requirements/torch.txt" --no-compile -r "$here/requirements/torch.txt"
    cp "$here/requirements/torch.txt" "$here/.venv/ready-torch"
  fi
  pip_install "lopsided itself" --no-deps --editable "$here"
  cp "$here/requirements/run.txt" "$here/.venv/ready-run"
  [ "$set_up" = run ] || cp "$here/requirements/dev.txt" "$here/.venv/ready-dev"
  cp "$here/pyproject.toml" "$here/.venv/ready-project"
}

if ! is_ready; then
  if command -v flock >/dev/null 2>&1; then
    # Two first starts at once: the second waits and then finds everything ready.
    exec 9>"$here/.venv.lock" || fail "could not write to $here; the launcher keeps .venv there."
    flock 9
    is_ready || install
    exec 9>&-
  else
    install
  fi
fi
