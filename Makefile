# make demo   text -> vocabulary -> records -> pre-trained BERT-Tiny, on this machine
# make test   the tests
# make env    only the environment (.venv)
PYTHON ?= python3.11
BIN := .venv/bin
# The tests run in two processes: most of them keep one core busy.
HALF := tests/common tests/data_gen tests/evaluation tests/golden tests/modeling tests/vocab

.PHONY: env demo test lint clean

env: .venv/.complete

# The marker is written last: an interrupted installation is taken up again.
.venv/.complete: requirements.txt requirements-dev.txt requirements.lock
	@command -v $(PYTHON) >/dev/null || { echo "error: $(PYTHON) was not found: install Python 3.11, or name one: make PYTHON=/path/to/python3.11"; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt -r requirements-dev.txt -c requirements.lock
	touch $@

demo: env
	$(BIN)/python demo.py

test: env
	$(BIN)/python -m ruff check .
	$(BIN)/lint-imports --no-logo --no-cache
	@log=$$(mktemp); $(BIN)/python -m pytest -q -p no:cacheprovider $(PYTEST_ARGS) $(HALF) > $$log 2>&1 & half=$$!; \
	status=0; $(BIN)/python -m pytest -q $(PYTEST_ARGS) tests $(HALF:%=--ignore=%) || status=1; \
	wait $$half || status=1; cat $$log; rm -f $$log; exit $$status

lint: env
	$(BIN)/python -m ruff check .
	$(BIN)/lint-imports --no-logo --no-cache

clean:
	rm -rf .venv demo_output
