# The scripts and the library, in an image for CPUs or GPUs:
#
#   docker build -t bert-tf .
#   docker build -t bert-tf:gpu --build-arg DEVICE=gpu .
#   docker run --rm -v "$PWD:/work" bert-tf bert-run-classifier --help
#   docker run --rm --gpus=all -v "$PWD:/work" bert-tf:gpu bert-run-classifier --help
FROM python:3.11-slim-bookworm

ARG DEVICE=cpu
WORKDIR /opt/bert-tf
# What is installed changes less often than the code, so that this layer is kept.
COPY requirements.txt requirements-gpu.txt requirements.lock ./
RUN if [ "$DEVICE" = gpu ]; then set -- -r requirements-gpu.txt; else set --; fi \
    && pip install --no-cache-dir "pip>=26.1" \
    && pip install --no-cache-dir -r requirements.txt "$@" -c requirements.lock
COPY . .
RUN pip install --no-cache-dir hatchling==1.33.0 \
    && pip install --no-cache-dir --no-deps --no-build-isolation .

# Not as root: what a run writes into /work belongs to the user with this number, unless docker run has --user.
RUN useradd --uid 1000 --create-home bert
USER 1000
WORKDIR /work
CMD ["bert-run-classifier", "--help"]
