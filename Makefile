# make demo   text -> vocabulary -> records -> pre-trained BERT-Tiny, on this machine
# make test   the tests; with PEERS=1 also beside PyTorch and others, with LOWEST=1 on the lowest versions admitted,
#             with NEWEST=1 on the newest
# make cheap  what differs between Pythons and needs no training, 3 minutes; PYTHON=python3.12 VENV=.venv-3.12 names another
# make smoke  the package on the other Pythons that are here, some minutes
# make aot    compares the plans of XLA's compilers for GPUs and TPUs with those in benchmarks/aot_golden.json, some minutes
# make beam   the environment of data generation on Apache Beam (beam), with Dask; tests of it run where it is there
# make pages  runs the commands of README and the tutorial, small, and in full size to compare what they print
# make env    only the environment (.venv); with GPU=1 also CUDA's libraries
# make docs   the documentation as a site, in output/site
# make lock   writes requirements.lock anew, after a change of a version
# The newest Python that TensorFlow has wheels for and that starts here.
PYTHONS := 3.13 3.12 3.11
PYTHON ?= $(shell $(dir $(lastword $(MAKEFILE_LIST))).ci/python $(PYTHONS))
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: env demo test cheap smoke aot beam pages docs lint lock clean

env: $(VENV)/.complete $(foreach name,GPU PEERS LOWEST NEWEST,$(if $($(name)),$(VENV)/.complete-$(name)))

# The marker is written last: an interrupted installation is taken up again.
$(VENV)/.complete: requirements.txt requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "error: none of Python $(PYTHONS) was found: install one (uv python install 3.13, apt install python3.13-venv, brew install python@3.13 or pyenv install 3.13), or name one: make PYTHON=/path/to/python"; exit 2; }
	@$(PYTHON) -c "import sys; sys.exit('{}.{}'.format(*sys.version_info) not in '$(PYTHONS)'.split())" || { echo "error: PYTHON=$(PYTHON) is none of Python $(PYTHONS), for which TensorFlow has wheels: name another one"; exit 2; }
	@echo "using $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)
	@echo "installing TensorFlow and what else is needed into $(VENV): some minutes, 4.2 GB"
	@# Earlier ones refuse constraints with digests.
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "pip>=26.1"
	@# Problems are shown; the names of two hundred packages are not.
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt --group dev -c requirements.lock
	@# The project's packages are found from any directory: from modeling import BertEncoder.
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@$(BIN)/python -c "import keras, tensorflow as tf; print(f'works: TensorFlow {tf.__version__}, Keras {keras.__version__}')"
	@touch $@

# Shows what it found at the end.
$(VENV)/.complete-GPU: $(VENV)/.complete requirements-gpu.txt
	@echo "installing CUDA's libraries into $(VENV): some minutes, 5 GB"
	$(BIN)/python -m pip install --disable-pip-version-check -r requirements-gpu.txt -c requirements.lock
	$(BIN)/python -c "import tensorflow as tf; print('GPUs that TensorFlow finds:', tf.config.list_physical_devices('GPU') or 'none')"
	touch $@

# Packages to compare with. They get no constraints: keras-hub needs an older kagglesdk than the lock has.
$(VENV)/.complete-PEERS: $(VENV)/.complete
	$(BIN)/python -m pip install --disable-pip-version-check --group peers
	touch $@

# The lowest and the newest versions that pyproject.toml admits, in place of the locked ones.
$(VENV)/.complete-LOWEST: resolution := lowest-direct
$(VENV)/.complete-NEWEST: resolution := highest
$(VENV)/.complete-LOWEST $(VENV)/.complete-NEWEST: $(VENV)/.complete pyproject.toml
	$(BIN)/python -m pip install --disable-pip-version-check uv
	$(BIN)/python -m uv pip compile --quiet --resolution=$(resolution) --extra=text --output-file=$@.txt pyproject.toml
	@# tf-models-official brings a pandas that does not go with the lowest NumPy.
	$(BIN)/python -m uv pip install --compile-bytecode --python=$(BIN)/python --requirements=$@.txt pandas
	touch $@

# The closure of every exact version with the digests of its files, for all platforms and Pythons; keeps what is there.
lock: env
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/python -m uv pip compile --quiet --universal --python-version=3.11 --generate-hashes --no-annotate \
	    --custom-compile-command="make lock" --group=dev --output-file=requirements.lock requirements.txt requirements-gpu.txt

demo: env
	$(BIN)/python demo.py

# Two processes: most tests keep one core busy. A file stays in one of them, so that what it prepares is made once.
# Types are those that the locked versions declare.
test: $(if $(LOWEST)$(NEWEST),env,lint)
	$(BIN)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS) || $(BIN)/python -m tests.again

# Options, files, formats, documents and the budget: no test here trains.
CHEAP := tests/test_budget.py tests/test_flags.py tests/test_docs.py tests/test_contributing.py \
    tests/test_commands_of_pages.py tests/bert_common tests/data_gen tests/bert_tf/evaluation
cheap: lint
	$(BIN)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder $(CHEAP) $(PYTEST_ARGS)

# The wheel on the other Pythons of this machine.
smoke: env
	$(BIN)/python .ci/smoke

# An environment of its own: packages of the compilers need other versions than TensorFlow's.
aot/.complete: benchmarks/aot_requirements.txt | $(VENV)/.complete
	$(BIN)/python -m venv aot
	@echo "installing XLA's compilers into aot: 1.3 GB"
	aot/bin/python -m pip install --disable-pip-version-check -r benchmarks/aot_requirements.txt
	touch $@

# No device is needed.
aot: env aot/.complete
	$(BIN)/python benchmarks/aot.py --check $(AOT_ARGS)

# Another one, as Beam and the lock take different versions. Without --only-binary pip may compile a Beam of years ago.
beam/.complete: requirements-beam.txt
	$(PYTHON) -m venv beam
	@echo "installing Apache Beam and Dask into beam: 0.7 GB"
	beam/bin/python -m pip install --disable-pip-version-check --only-binary apache-beam -r requirements-beam.txt
	# Learning a vocabulary takes one file of it, and no TensorFlow.
	beam/bin/python -m pip install --disable-pip-version-check --no-deps tensorflow-text==2.20.1
	touch $@

beam: beam/.complete

# All commands of README, the tutorial and the page of released weights, at small sizes.
pages: env
	$(BIN)/python -m pytest -q -m pages tests/test_pages.py

# The variable silences an advertisement.
docs: env
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "output/site/index.html"

lint: env
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m ruff check .
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/mypy

clean:
	rm -rf .venv* aot beam demo_output
