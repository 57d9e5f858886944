# Sextant's server and its command line, on Debian.
#
#   docker build -t sextant .           (or podman, or buildah: see docs/running.md, "Containers")
ARG BUILD_IMAGE=debian:bookworm-slim
ARG RUNTIME_IMAGE=debian:bookworm-slim

FROM ${BUILD_IMAGE} AS build
WORKDIR /src
# Alone, so that a change to a source file does not install everything anew.
COPY deploy/install-deps.sh deploy/
RUN deploy/install-deps.sh programs
COPY . .
RUN cmake --preset release -DSEXTANT_BUILD_TESTS=OFF \
 && cmake --build --preset release --target sextantd sextant sextant-probe --parallel "$(nproc)" \
 && DESTDIR=/out cmake --install build/release --prefix /usr --strip \
 && deploy/sbom.sh linked build/release > /out/linked

FROM ${RUNTIME_IMAGE}
COPY deploy/install-deps.sh /tmp/deploy/
RUN /tmp/deploy/install-deps.sh runtime \
 && rm -rf /tmp/deploy /var/lib/apt/lists/* /var/cache/apt/*
COPY --from=build /out/usr/bin/sextantd /out/usr/bin/sextant /out/usr/bin/sextant-probe /usr/bin/
COPY --from=build /out/usr/lib/sextant/ /usr/lib/sextant/
COPY deploy/entrypoint.sh /usr/lib/sextant/
# What the programs are made of, and all that is installed here.
COPY --from=build /src/deploy/sbom.sh /out/linked /tmp/sbom/
RUN mkdir -p /usr/share/doc/sextant \
 && /tmp/sbom/sbom.sh image "$(sextantd --version | cut -d ' ' -f 2)" /tmp/sbom/linked \
    > /usr/share/doc/sextant/sbom.spdx.json \
 && rm -rf /tmp/sbom

# A number, so that Kubernetes' runAsNonRoot can tell without reading /etc/passwd. No file
# here belongs to it: the server writes none, and runs on a read-only root as well.
USER 65532:65532

# gRPC, and HTTP for /metrics, /healthz and /readyz.
EXPOSE 50051 9464

STOPSIGNAL SIGTERM

# Says what to give where no one could call.
ENTRYPOINT ["/usr/lib/sextant/entrypoint.sh"]
