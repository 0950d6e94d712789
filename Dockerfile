# docker build -t rampion . && docker run --rm -v "$PWD/out:/home/rampion/out" rampion
# The job of `make demo`; the page is out/report.html. The folder out must be writable by user 1000.
FROM python:3.13-slim AS build
RUN apt-get update \
    && apt-get install --no-install-recommends -y gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
COPY . /source
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /source

FROM python:3.13-slim
COPY --from=build /wheels /wheels
RUN python -m pip install --no-cache-dir /wheels/*.whl \
    && rm -r /wheels \
    && useradd --create-home --uid 1000 rampion \
    && install -d -o rampion -g rampion /home/rampion/out
USER rampion
WORKDIR /home/rampion
ENTRYPOINT ["rampion"]
CMD ["demo", "--out", "out"]
