# Sextant's planner and its command line, on what they need of Debian and nothing else.
#
#   docker build -t sextant .           (or podman, or buildah: see docs/running.md, "Containers")
#
# deploy/image.sh makes the same of packages that are there, by the last stage alone.
ARG BUILD_IMAGE=debian:bookworm-slim

FROM ${BUILD_IMAGE} AS build
WORKDIR /src
# Alone, so that a change to a source file does not install everything anew.
COPY deploy/install-deps.sh deploy/
RUN deploy/install-deps.sh programs && deploy/install-deps.sh page && deploy/install-deps.sh packages
COPY . .
RUN cmake --preset release -DSEXTANT_BUILD_TESTS=OFF \
 && cmake --build --preset release --parallel "$(nproc)" \
 && cpack --config build/release/CPackConfig.cmake \
 && deploy/image.sh root build/release/packages /image

FROM scratch
COPY --from=build /image/ /
COPY deploy/entrypoint.sh /usr/lib/sextant/

# A number, so that Kubernetes' runAsNonRoot can tell without reading /etc/passwd. No file
# here belongs to it: the server writes none, and runs on a read-only root as well.
USER 65532:65532

# gRPC, and HTTP for /metrics, /healthz and /readyz.
EXPOSE 50051 9464

STOPSIGNAL SIGTERM

# Says what to give where no one could call.
ENTRYPOINT ["/usr/lib/sextant/entrypoint.sh"]
