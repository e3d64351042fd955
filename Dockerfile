# The server on a base image of choice; it brings a Python of its own, so the base needs none.
#   docker build -t agentserver .
#   docker build -t agentserver:java --build-arg BASE_IMAGE=eclipse-temurin:21-jdk-noble .
# docker-bake.hcl builds all variants for both architectures.
ARG BASE_IMAGE=python:3.13-slim-bookworm

FROM python:3.13-slim-bookworm AS build
RUN pip install --no-cache-dir uv==0.13.9
ENV UV_PYTHON_INSTALL_DIR=/opt/python \
    UV_PROJECT_ENVIRONMENT=/opt/agentserver \
    UV_LINK_MODE=copy \
    UV_COMPILE_BYTECODE=1
WORKDIR /src
COPY pyproject.toml uv.lock ./
RUN uv sync --locked --no-dev --no-install-project --managed-python --python 3.13
COPY . .
RUN uv sync --locked --no-dev --no-editable --managed-python --python 3.13

FROM ${BASE_IMAGE}
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates git tmux \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --create-home --shell /bin/bash agent \
    && install -d -o agent -g agent /data /workspaces
COPY --from=build /opt/python /opt/python
COPY --from=build /opt/agentserver /opt/agentserver
ENV PATH=/opt/agentserver/bin:$PATH \
    OH_PERSISTENCE_DIR=/data \
    OH_WORKSPACE_PATH=/workspaces
USER 10001
WORKDIR /workspaces
VOLUME ["/data", "/workspaces"]
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
    CMD ["/opt/agentserver/bin/python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/ready', timeout=4)"]
# Beyond this machine it wants a key: OH_SESSION_API_KEYS_0.
CMD ["agentserver", "serve", "--host", "0.0.0.0"]
