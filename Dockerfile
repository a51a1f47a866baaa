# One image for every process of the stack; docker-compose.yml says which one a container runs.
FROM python:3.11-slim

WORKDIR /kubeloop
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY examples ./examples
COPY kubeloop ./kubeloop
COPY apiserver ./apiserver
COPY controllers ./controllers
COPY kubelet_sim ./kubelet_sim
RUN python -m pip install --no-cache-dir --disable-pip-version-check -c constraints.txt '.[kubectl]'
RUN mkdir -p /data && chown 65532:65532 /data

USER 65532:65532
VOLUME /data
ENTRYPOINT ["python", "-m"]
CMD ["apiserver", "--data-dir=/data"]
