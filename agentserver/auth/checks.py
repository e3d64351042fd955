"""`manage.py check --deploy`: what a server that others reach should have set."""

from django.core.checks import Tags, Warning, register

from agentserver import conf


@register(Tags.security, deploy=True)
def keys_are_set(app_configs, **kwargs):
    """Keys, TLS, and addresses that pages may come from."""
    configuration = conf.current()
    found = []
    if not configuration.session_api_keys and not configuration.deferred_init:
        sentence = "No session key is set: whoever reaches the server runs commands on it."
        found.append(Warning(sentence, hint="Set OH_SESSION_API_KEYS_0.", id="access.W001"))
    if not configuration.secret_key:
        sentence = "The key that encrypts secrets lies in the data directory, beside what it protects."
        found.append(Warning(sentence, hint="Set OH_SECRET_KEY from a secret store.", id="access.W002"))
    if not (configuration.web_url or "").startswith("https://"):
        sentence = "Nothing says that people reach the server over TLS, so their pages do not insist on it."
        found.append(Warning(sentence, hint="Set OH_WEB_URL=https://...", id="access.W004"))
    if "*" in configuration.allow_cors_origins:
        sentence = "Pages of every site may read answers of the API."
        found.append(Warning(sentence, hint="Name the origins in OH_ALLOW_CORS_ORIGINS_0.", id="access.W003"))
    return found
