"""Settings of the project that shows and tests Conveyor: from the environment, with defaults to try it."""

from __future__ import annotations

from pathlib import Path

import django
import environ

from testproject.embedded import database_url

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()

DEBUG = env.bool("DEBUG", default=True)
# Good for trying only; docker-compose.yml and a real project set their own.
SECRET_KEY = env.str("SECRET_KEY", default="for-trying-only")
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])

if not env.str("DATABASE_URL", default=""):
    database_url(BASE_DIR / ".postgres")
DATABASES = {"default": env.db("DATABASE_URL")}
if OTHER := env.str("OTHER_DATABASE_URL", default=""):
    DATABASES["other"] = env.db_url_config(OTHER)

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "conveyor_django",
    "testproject.shop",
]
if django.VERSION < (6, 0):
    INSTALLED_APPS.append("django_tasks")

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
ROOT_URLCONF = "testproject.urls"
WSGI_APPLICATION = "testproject.wsgi.application"
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
STATIC_URL = "static/"
USE_TZ = True
TIME_ZONE = "UTC"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

TASKS = {
    "default": {
        "BACKEND": "conveyor_django.backend.ConveyorBackend",
        "QUEUES": ["default", "orders"],
    },
}
CONVEYOR = {
    "LEASE_SECONDS": env.float("CONVEYOR_LEASE_SECONDS", default=30.0),
    "GRACE_SECONDS": env.float("CONVEYOR_GRACE_SECONDS", default=30.0),
    "MAX_LOST": env.int("CONVEYOR_MAX_LOST", default=3),
    # Such as {"orders": {"DATABASE": "other"}}.
    "QUEUES": env.json("CONVEYOR_QUEUES", default={}),
    "TIMEOUT_GRACE_SECONDS": env.float("CONVEYOR_TIMEOUT_GRACE_SECONDS", default=5.0),
}
