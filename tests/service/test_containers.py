"""Consistency of Dockerfile, compose.yaml and the package. Starts no container."""

import json
import re
import tomllib
from pathlib import Path

import yaml
from sqlalchemy.engine import make_url
from typer.main import get_command

from qufur.cli import app
from qufur.service.store.store import parsed

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "Dockerfile").read_text().replace("\\\n", "")
STEPS = [line.split(maxsplit=1) for line in TEXT.splitlines() if line and not line.startswith("#")]
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]


def step(name):
    """Return the arguments of the last instruction with a name."""
    return [arguments for verb, arguments in STEPS if verb == name][-1]


def options(arguments):
    """Return the options of a command as the command line reads them."""
    name, *others = arguments
    return get_command(app).commands[name].make_context(name, others).params


def image_command():
    assert json.loads(step("ENTRYPOINT")) == ["qufur"]
    return options(json.loads(step("CMD")))


def test_image_exposes_the_port_of_the_server():
    given, port = image_command(), step("EXPOSE")
    assert (given["host"], str(given["port"])) == ("0.0.0.0", port)
    probe = json.loads(step("HEALTHCHECK").split("CMD", 1)[1])
    assert f"http://127.0.0.1:{port}/readyz" in probe[2]
    compile(probe[2], "the health check", "exec")
    assert given["demo"] is False


def test_image_stores_data_on_the_volume_of_an_unprivileged_user():
    file = Path(parsed(image_command()["store"]).database)
    assert str(file.parent) == step("VOLUME") == step("WORKDIR")
    user = step("USER")
    assert int(user) > 0
    assert f"useradd --uid {user} " in step("RUN")
    assert f"--owner {user} --group {user} {file.parent}" in step("RUN")
    places = [verb for verb, _ in STEPS]
    assert places.index("USER") < places.index("VOLUME") < places.index("CMD")


def test_image_copies_existing_files_and_installs_existing_extras():
    wanted = [
        name
        for verb, arguments in STEPS
        if verb == "COPY" and "--from" not in arguments
        for name in arguments.split()[:-1]
    ]
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    for name in wanted:
        assert (ROOT / name).exists()
        assert f"!{Path(name).name}" in ignored
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = re.search(r'"\.\[(.*?)\]"', TEXT)[1].split(",")
    assert set(extras) <= set(project["project"]["optional-dependencies"])
    version = re.search(r"FROM python:([\d.]+)-slim$", TEXT, re.M)[1]
    assert f"Programming Language :: Python :: {version}" in project["project"]["classifiers"]
    # What the build needs besides the source.
    assert {"README.md", "LICENSE"} <= set(wanted)


def test_compose_services_refer_to_each_other():
    service, database = COMPOSE["qufur"], COMPOSE["database"]
    given = options(service["command"])
    url = make_url(given["store"])
    assert COMPOSE[url.host] is database
    assert list(service["depends_on"]) == [url.host]
    assert (url.username, url.database) == tuple(
        database["environment"][name] for name in ("POSTGRES_USER", "POSTGRES_DB")
    )
    assert service["environment"]["PGPASSWORD"] == database["environment"]["POSTGRES_PASSWORD"]
    assert url.password is None
    assert service["ports"] == [f"127.0.0.1:{given['port']}:{step('EXPOSE')}"]
    assert service["depends_on"][url.host]["condition"] == "service_healthy"
    assert database["healthcheck"]["test"][1] == "pg_isready"
    (mount,) = database["volumes"]
    assert mount.split(":")[0] in yaml.safe_load((ROOT / "compose.yaml").read_text())["volumes"]
