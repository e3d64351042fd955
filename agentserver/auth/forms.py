"""The login form: an account, or a session key of the operator."""

from django import forms
from django.contrib.auth import authenticate

from agentserver.auth import backends, keys

REFUSED = "That did not match, or too many attempts were made: wait a minute and try again."


class LoginForm(forms.Form):
    """``cleaned_data`` is there only if ``user`` or ``key`` is set."""

    username = forms.CharField(
        required=False, max_length=254, widget=forms.TextInput({"autocomplete": "username"})
    )
    password = forms.CharField(
        required=False, strip=False, widget=forms.PasswordInput({"autocomplete": "current-password"})
    )
    session_key = forms.CharField(
        required=False,
        strip=False,
        label="Session key",
        widget=forms.PasswordInput({"autocomplete": "off"}),
    )

    def __init__(self, request, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.request, self.user, self.key = request, None, None

    def clean(self):
        data = super().clean()
        if data.get("session_key"):
            self.key = self._key(data["session_key"])
        else:
            self.user = authenticate(
                self.request, username=data.get("username"), password=data.get("password")
            )
        if self.key is None and self.user is None:
            raise forms.ValidationError(REFUSED)
        return data

    def _key(self, given: str) -> str | None:
        if not backends.allowed(self.request):
            return None
        found = keys.matches(given.encode("utf-8", "surrogatepass"))
        if found is None:
            backends.count_failure(backends.counters(self.request, None))
        return found
