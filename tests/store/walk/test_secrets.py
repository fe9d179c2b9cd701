"""Files that look like secrets are captured and marked, or left out when the person wants that."""

from __future__ import annotations

from pathlib import Path

import pytest
from forkpoint.store.home import data_folder
from forkpoint.store.walk.secrets import LEFT_OUT, looks_secret, path_looks_secret

from ...builders.cli import forkpoint
from ...builders.folders import Link, make


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make(tmp_path / "project", {"a.py": "1\n", ".env": "KEY=1\n", "deep/id_rsa": "key", ".env.example": "KEY="})


def wants_secrets(wanted: bool) -> None:
    data_folder().mkdir(exist_ok=True)
    (data_folder() / "settings.toml").write_text(f"[capture]\nsecrets = {str(wanted).lower()}\n")


def save(project: Path, *options: str) -> dict:  # type: ignore[type-arg]
    return forkpoint("save", "-C", project, "--json", *options).json


@pytest.mark.parametrize(
    "name",
    [
        ".env",
        ".env.production",
        ".ENV",
        ".envrc",
        "prod.env",
        "server.pem",
        "private.key",
        "id_rsa",
        "id_ed25519",
        "id_ecdsa_sk",
        ".netrc",
        ".npmrc",
        ".pypirc",
        ".git-credentials",
        "credentials",
        "credentials.json",
        "Credentials.xml",
        "cert.p12",
        "cert.pfx",
        "release.keystore",
        "service-account.json",
        "service-account-prod.json",
        "client_secret_1.json",
        "token",
        "token.json",
        "api.token",
        "secrets.yaml",
        "terraform.tfvars",
    ],
)
def test_names_that_look_like_a_secret(name: str) -> None:
    assert looks_secret(name)
    assert path_looks_secret(b"some/folder/" + name.encode())


@pytest.mark.parametrize(
    "name",
    [
        ".env.example",
        ".env.sample",
        ".env.template",
        ".environment.md",
        "id_rsa.pub",
        "credentials.py",
        "credentials_test.go",
        "secrets.py",
        "tokenizer.json",
        "token.py",
        "keys.py",
        "monkey",
        "env",
        "package.json",
        "README.md",
    ],
)
def test_names_that_do_not(name: str) -> None:
    assert not looks_secret(name)


def test_they_are_captured_and_marked_wherever_they_are_shown(project: Path) -> None:
    first = save(project)
    assert first["files"] == 4
    make(project, {".env": "KEY=2\n", "a.py": "2\n"})
    second = save(project)
    shown = forkpoint("show", second["id"], "-C", project, "--json").json
    assert [item["path"] for item in shown["covered"]["secrets"]] == [".env", "deep/id_rsa"]
    assert {file["path"]: file["notes"] for file in shown["changes"]["files"]} == {".env": ["secret?"], "a.py": []}
    assert "secret?  " in forkpoint("show", second["id"], "-C", project).out
    assert "(secret?)" in forkpoint("diff", first["id"], second["id"], "-C", project).out
    told = forkpoint("restore", first["id"], "--files", "--dry-run", "-C", project)
    assert "secret?" in next(line for line in told.out.splitlines() if ".env" in line)
    assert "secret?" not in next(line for line in told.out.splitlines() if "a.py" in line)


def test_a_link_holds_no_secret(project: Path) -> None:
    make(project, {"token": Link("a.py")})
    assert "token" not in str(forkpoint("show", save(project)["id"], "--json", "-C", project).json["covered"])


def test_switched_off_they_are_uncaptured_with_the_reason_and_left_alone(project: Path) -> None:
    first = save(project)
    wants_secrets(False)
    make(project, {".env": "KEY=2\n", "new.pem": "key\n", "a.py": "2\n"})
    second = save(project)
    assert second["uncaptured"] == [{"path": path, "why": LEFT_OUT} for path in (".env", "deep/id_rsa", "new.pem")]
    assert second["files"] == 2
    done = forkpoint("restore", first["id"], "--files", "--yes", "--all", "--json", "-C", project).json
    assert [item["path"] for item in done["restored"]] == ["a.py"]
    assert {item["path"]: item["why"] for item in done["kept"]} == {
        path: f"cannot be captured now: {LEFT_OUT}" for path in (".env", "deep/id_rsa")
    }
    assert (project / ".env").read_text() == "KEY=2\n"
    assert (project / "new.pem").read_text() == "key\n"
    wants_secrets(True)
    done = forkpoint("restore", second["id"], "--files", "--yes", "--all", "--json", "-C", project).json
    assert {item["path"]: item["why"] for item in done["kept"]} == {
        path: f"not captured then: {LEFT_OUT}" for path in (".env", "deep/id_rsa", "new.pem")
    }


def test_switching_is_noticed_though_no_file_changed(project: Path) -> None:
    assert [save(project)["files"], wants_secrets(False), save(project)["files"]] == [4, None, 2]
    assert save(project)["files"] == 2
    wants_secrets(True)
    assert save(project)["files"] == 4


def test_what_a_restore_put_there_can_be_undone_though_secrets_are_switched_off_since(project: Path) -> None:
    first = save(project)
    make(project, {".env": "KEY=2\n"})
    forkpoint("restore", first["id"], "--files", "--yes", "--all", "-C", project)
    wants_secrets(False)
    assert forkpoint("undo", "--yes", "-C", project).code == 0
    assert (project / ".env").read_text() == "KEY=2\n"
    wants_secrets(True)
    assert forkpoint("redo", "--yes", "-C", project).code == 0
    assert (project / ".env").read_text() == "KEY=1\n"


def test_a_setting_that_is_no_choice_is_refused(project: Path) -> None:
    data_folder().mkdir(exist_ok=True)
    (data_folder() / "settings.toml").write_text('[capture]\nsecrets = "no"\n')
    refused = forkpoint("save", "-C", project)
    assert refused.code == 1
    assert "capture.secrets must be true or false" in refused.err
