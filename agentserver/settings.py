"""Django settings, built from conf.py."""

import contextlib
import sqlite3
import sys
from pathlib import Path

import dj_database_url
from django.utils.csp import CSP

from agentserver import bootstrap, conf, keys  # noqa: F401  (bootstrap comes before the SDK)
from agentserver.front import prefix
from agentserver.observability import logs

BASE_DIR = Path(__file__).resolve().parent.parent
CONFIGURATION = conf.current()
DATA_DIR = CONFIGURATION.persistence_dir
conf.require_directory(DATA_DIR)

SECRET_KEY = keys.django_secret_key()
DEBUG = False
# The front door checks Host itself: what is right depends on the address and the keys.
ALLOWED_HOSTS = ["*"]

INSTALLED_APPS = [
    # Before staticfiles: its runserver serves ASGI. Importing it brings Twisted: 0.5 s, for that alone.
    *(["daphne"] if "runserver" in sys.argv else []),
    "agentserver.dashboard",  # before the admin, whose frame it has in colours of its own
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "channels",
    "agentserver",
    "agentserver.workspace",
    "agentserver.places",
    "agentserver.auth",
    "agentserver.webhooks",  # before conversations: it ends after them, and posts their last events
    "conversations",
    "bashevents",
    "agentserver.configuration",
    "agentserver.catalog",
    # Its tables exist on PostgreSQL only.
    *(["procrastinate.contrib.django"] if CONFIGURATION.engine else []),
]

ROOT_URLCONF = "agentserver.urls"
ASGI_APPLICATION = "agentserver.asgi.application"

# Pages for people: admin and dashboard.
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
# The API needs none of those: 0.8 instead of 2.1 ms CPU a request.
API_MIDDLEWARE = ["agentserver.front.middleware.principal", "agentserver.front.middleware.content_length"]
AUTHENTICATION_BACKENDS = ["agentserver.auth.backends.ThrottledBackend"]
LOGIN_URL = "/login"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]


def _database() -> dict:
    url = CONFIGURATION.database_url
    if not url:
        return _sqlite(DATA_DIR / "agentserver.sqlite3")
    try:
        parsed = dj_database_url.parse(url, conn_max_age=None, conn_health_checks=True)
    except (ValueError, KeyError):
        parsed = {}
    engine = parsed.get("ENGINE", "")
    if engine.endswith("sqlite3"):
        return _sqlite(parsed["NAME"])
    if engine.endswith("postgresql") and parsed.get("NAME"):
        return {**parsed, "OPTIONS": _postgresql_options(parsed.get("OPTIONS", {}))}
    raise conf.ConfigurationError(
        "DATABASE_URL cannot be used: give postgres://user:password@host:5432/name or sqlite:////path/to/file."
    )


def _postgresql_options(given: dict) -> dict:
    """What protects processes from each other, with the options of the URL."""
    # A process that freezes inside a transaction keeps its locks; nobody else could take over.
    idle = f"-c idle_in_transaction_session_timeout={int(CONFIGURATION.runner_stalled_seconds * 1000)}"
    # A database that is away is to be noticed while somebody waits for the answer.
    return {"connect_timeout": 5, **given, "options": f"{idle} {given.get('options', '')}".strip()}


def _sqlite(name) -> dict:
    _create_sqlite(Path(str(name)))
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(name),
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            # A transaction that reads first and writes later would ignore the timeout.
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            # NORMAL survives a crash of the process. Nothing here may need the write lock: a new
            # connection would wait for the transaction that has it.
            "init_command": (
                "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
                "PRAGMA temp_store=MEMORY; PRAGMA cache_size=-16000; PRAGMA journal_size_limit=67108864;"
            ),
        },
        # A file, so that the threads and processes of a test see one database.
        "TEST": {"NAME": str(Path(str(name)).with_name("test.sqlite3"))},
    }


def _create_sqlite(path: Path) -> None:
    """Give a new file what must be set before its first table: pruning then gives disk back."""
    if str(path) == ":memory:" or path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(sqlite3.connect(path, timeout=20)) as database:
        database.executescript("PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL;")


# What logins are counted in; shared where several processes serve.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": CONFIGURATION.redis_url,
        "KEY_PREFIX": CONFIGURATION.channel_prefix,
    }
    if CONFIGURATION.redis_url
    else {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
}
DATABASES = {"default": _database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

if CONFIGURATION.redis_url:
    CHANNEL_LAYERS = {
        "default": {
            "BACKEND": "channels_redis.core.RedisChannelLayer",
            # redis-py 8 would drop an idle socket after 5 s without socket_timeout None.
            "CONFIG": {
                "hosts": [{"address": CONFIGURATION.redis_url, "socket_timeout": None}],
                "prefix": CONFIGURATION.channel_prefix,
                "capacity": 1000,
            },
        }
    }
else:
    CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_RENDERER_CLASSES": ["agentserver.api.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["agentserver.api.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_METADATA_CLASS": None,  # OPTIONS is 405 with Allow; a preflight never gets here
    "EXCEPTION_HANDLER": "agentserver.errors.answer",
    "UNAUTHENTICATED_USER": None,
    "URL_FORMAT_OVERRIDE": None,  # ?format= belongs to the archives
}
SPECTACULAR_SETTINGS = {
    "TITLE": "OpenHands Agent Server",
    "VERSION": "1.58.2",
    "OAS_VERSION": "3.1.0",  # its schemas are pydantic's, which 3.0 does not know in full
    "DEFAULT_GENERATOR_CLASS": "agentserver.openapi.generator.Generator",
    "POSTPROCESSING_HOOKS": ["agentserver.openapi.generator.complete"],
    # Scripts of the documentation pages come from this server, not from a CDN.
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
}

# JSON bodies are measured by api.py, in our own unit and with our own answer.
DATA_UPLOAD_MAX_MEMORY_SIZE = None

USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = False
# Links carry the path that a proxy shows the server under (OH_WEB_URL); requests come without it.
FORCE_SCRIPT_NAME = prefix.path() or None
STATIC_URL = f"{prefix.path()}/static/"
STATICFILES_DIRS = [folder for folder in [CONFIGURATION.static_files_path] if folder and folder.is_dir()]
STATIC_ROOT = DATA_DIR / "static"
APPEND_SLASH = False
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
# Shown over TLS: people's pages insist on it. The proxy says what the browser used.
SHOWN_OVER_TLS = (CONFIGURATION.web_url or "").startswith("https://")
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = SHOWN_OVER_TLS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if SHOWN_OVER_TLS else None
SECURE_HSTS_SECONDS = 30 * 24 * 3600 if SHOWN_OVER_TLS else 0
CSRF_TRUSTED_ORIGINS = prefix.origins()
# Pages show what agents and tools wrote: should markup get through, nothing in it runs or calls out.
SECURE_CSP = {
    "default-src": [CSP.NONE],
    "script-src": [CSP.SELF],
    "style-src": [CSP.SELF],
    "img-src": [CSP.SELF, "data:"],
    "font-src": [CSP.SELF],
    "connect-src": [CSP.SELF],
    "form-action": [CSP.SELF],
    "base-uri": [CSP.NONE],
    "frame-ancestors": [CSP.NONE],
}
SILENCED_SYSTEM_CHECKS = [
    "security.W005",  # HSTS for subdomains: other servers' names are not ours to decide about
    "security.W021",  # nor is the preload list of browsers
]

LOGGING = logs.configuration(CONFIGURATION)
