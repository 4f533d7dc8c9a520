# The service, run by an ordinary user, with its store in /data:
#   docker build --tag qufur . && docker run --publish 127.0.0.1:8000:8000 --volume labels:/data qufur
# It prints a key when it starts for the first time.
FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir ".[postgres]"

FROM python:3.13-slim
COPY --from=build /venv /venv
RUN useradd --uid 10001 --no-create-home qufur && install --directory --owner 10001 --group 10001 /data
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/readyz', timeout=4)"]
ENTRYPOINT ["qufur"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000", "--store", "sqlite:////data/labels.db"]
