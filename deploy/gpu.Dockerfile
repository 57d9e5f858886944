# Sextant's image with a probe that measures NVIDIA's GPUs: its kernels are compiled by the nvcc of
# one CUDA image, and it loads the libraries of another.
#
#   docker build -t sextant .
#   docker build -f deploy/gpu.Dockerfile -t sextant-gpu .
#   docker run --rm --gpus all -p 127.0.0.1:50051:50051 sextant-gpu --insecure_allow_remote
#
# With `--target=mounted` the image has no libraries: see docs/running.md, "Containers".
ARG SEXTANT_IMAGE=sextant
ARG BUILD_IMAGE=debian:bookworm-slim
ARG CUDA_DEVEL_IMAGE=nvidia/cuda:13.0.1-devel-ubuntu22.04
ARG CUDA_LIBRARY_IMAGE=nvidia/cuda:13.0.1-cudnn-runtime-ubuntu22.04

# nvcc with its tools, and the headers that it includes unasked.
FROM ${CUDA_DEVEL_IMAGE} AS nvcc
RUN mkdir /nvcc && cd /usr/local/cuda/ && cp -rL --parents bin nvvm targets/*/include /nvcc

# cuBLASLt, cuDNN and NCCL, and what cuDNN loads; each under the name that it is loaded by.
FROM ${CUDA_LIBRARY_IMAGE} AS libraries
RUN mkdir /libraries && cp -L \
  /usr/local/cuda/lib64/libcublas*.so.?? \
  /usr/local/cuda/lib64/libnvrtc.so.?? /usr/local/cuda/lib64/libnvrtc-builtins.so.??.? \
  /usr/lib/*-linux-gnu/libcudnn*.so.9 /usr/lib/*-linux-gnu/libnccl.so.2 /libraries

FROM ${BUILD_IMAGE} AS build
WORKDIR /src
COPY deploy/install-deps.sh deploy/
RUN deploy/install-deps.sh programs && deploy/install-deps.sh kernels
COPY --from=nvcc /nvcc /usr/local/cuda
COPY . .
RUN cmake --preset release -DSEXTANT_PROBE_ONLY=ON \
 && cmake --build --preset release --target sextant-probe --parallel "$(nproc)" \
 && DESTDIR=/out cmake --install build/release --prefix /usr --strip

FROM ${SEXTANT_IMAGE} AS mounted
COPY --from=build /out/usr/bin/sextant-probe /usr/bin/
# What NVIDIA's container toolkit passes in: GPUs, and the driver's libraries for CUDA and NVML.
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
# For what those libraries load themselves.
ENV LD_LIBRARY_PATH=/usr/lib/sextant/cuda
ENTRYPOINT ["/usr/lib/sextant/entrypoint.sh", "--probe_library_folder=/usr/lib/sextant/cuda"]

FROM mounted
COPY --from=libraries /libraries /usr/lib/sextant/cuda
