# docker build -t rampion . && docker run --rm -v "$PWD/out:/home/rampion/out" rampion
# The job of `make demo`; the page is out/report.html. User 1000 must be able to write into the folder out.
FROM python:3.13 AS build
COPY . /source
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /source

FROM python:3.13-slim
COPY --from=build /wheels /wheels
RUN python -m pip install --no-cache-dir /wheels/*.whl \
    && rm -r /wheels \
    && useradd --create-home --uid 1000 rampion \
    && install -d -o rampion -g rampion /home/rampion/out
USER 1000
WORKDIR /home/rampion
ENTRYPOINT ["rampion"]
CMD ["demo", "--out", "out"]
