"""Which files look like secrets, by their names alone: marked wherever they are shown, and left out on request.

The list is the documentation: store/README.md points here. Letters count the same large and small.
"""

from __future__ import annotations

MARK = "secret?"
"""How such a file is marked: it is a guess, so it ends in a question mark."""
LEFT_OUT = "looks like a secret (setting capture.secrets)"
"""Why it is uncaptured when the person does not want it."""

NAMES = frozenset(
    {
        # keys
        "id_rsa",
        "id_dsa",
        "id_ecdsa",
        "id_ecdsa_sk",
        "id_ed25519",
        "id_ed25519_sk",
        # names and passwords for hosts, registries and databases
        ".netrc",
        "_netrc",
        ".npmrc",
        ".yarnrc.yml",
        ".pypirc",
        ".pgpass",
        ".my.cnf",
        ".htpasswd",
        ".git-credentials",
        ".dockercfg",
        ".dockerconfigjson",
        ".s3cfg",
        ".boto",
        ".vault-token",
        ".vault-pass",
        ".vault-password",
        "kubeconfig",
        # tokens and secrets under their plain names
        "token",
        "tokens",
        "token.json",
        "tokens.json",
        "token.txt",
        "token.yaml",
        "token.yml",
        ".token",
        ".tokens",
        "secret",
        "secrets",
        ".secret",
        ".secrets",
        "auth.json",
    }
)
BEGINNINGS = (
    ".env",
    "credentials",
    "service-account",
    "service_account",
    "serviceaccount",
    "client_secret",
    "secrets.",
)
ENDINGS = (
    ".env",
    ".pem",
    ".key",
    ".p12",
    ".pfx",
    ".pkcs12",
    ".jks",
    ".keystore",
    ".ppk",
    ".kdbx",
    ".token",
    ".tfvars",
)
HARMLESS = (
    # what people commit as a pattern for others to fill in
    ".example",
    ".sample",
    ".template",
    ".dist",
    ".defaults",
    # programs and texts about credentials
    ".c",
    ".cc",
    ".cpp",
    ".cs",
    ".css",
    ".go",
    ".h",
    ".hpp",
    ".html",
    ".java",
    ".js",
    ".jsx",
    ".kt",
    ".lock",
    ".md",
    ".php",
    ".py",
    ".pyi",
    ".rb",
    ".rs",
    ".rst",
    ".scala",
    ".sh",
    ".sql",
    ".swift",
    ".ts",
    ".tsx",
    ".vue",
)
"""Endings that are stronger than any beginning: `credentials.py` is a program, `.env.example` is for everybody."""


def looks_secret(name: str) -> bool:
    """Whether a file of this name (without its folder) looks like a secret."""
    name = name.lower()
    if name in NAMES:
        return True
    return (name.startswith(BEGINNINGS) or name.endswith(ENDINGS)) and not name.endswith(HARMLESS)


def path_looks_secret(path: bytes) -> bool:
    """Whether the file at a path looks like a secret."""
    return looks_secret(path[path.rfind(b"/") + 1 :].decode("utf-8", "replace"))
