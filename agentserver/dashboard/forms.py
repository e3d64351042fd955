"""The forms of the dashboard."""

from collections.abc import Sequence
from typing import Any

from django import forms

LONGEST_MESSAGE = 100_000
"""Characters of a first message."""


class StartForm(forms.Form):
    """What a new conversation needs. ``choices``: the models that can be had."""

    message = forms.CharField(
        label="What should the agent do?",
        max_length=LONGEST_MESSAGE,
        widget=forms.Textarea({"rows": 5, "autofocus": True, "placeholder": "Describe the task …"}),
    )
    workspace = forms.CharField(
        label="Workspace",
        max_length=4096,
        help_text="A directory on the server. It is made if it is not there.",
        widget=forms.TextInput({"spellcheck": "false", "autocomplete": "off"}),
    )
    model = forms.ChoiceField(label="Model", widget=forms.RadioSelect)
    other_model = forms.CharField(
        label="Name of the model",
        required=False,
        max_length=200,
        widget=forms.TextInput({"placeholder": "provider/name", "autocomplete": "off"}),
    )
    other_key = forms.CharField(
        label="API key",
        required=False,
        max_length=2000,
        strip=True,
        widget=forms.PasswordInput({"autocomplete": "off"}),
    )
    other_url = forms.URLField(
        label="Address",
        required=False,
        assume_scheme="https",
        help_text="Only for servers of your own.",
        widget=forms.URLInput({"placeholder": "https://…/v1", "autocomplete": "off"}),
    )
    confirm = forms.BooleanField(label="Ask me before every action", required=False)

    def __init__(self, choices: Sequence[Any], *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.fields["model"].choices = [(choice.value, choice.label) for choice in choices]
        self.notes = {choice.value: choice.note for choice in choices}

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if data.get("model") == "other" and not data.get("other_model"):
            self.add_error("other_model", "Give the name of the model.")
        return data

    def models(self) -> list[tuple[Any, str]]:
        """The radio buttons with their notes."""
        return [(button, self.notes[button.data["value"]]) for button in self["model"]]


class TokenForm(forms.Form):
    name = forms.CharField(
        label="What is it for?",
        max_length=100,
        widget=forms.TextInput({"placeholder": "laptop, CI, …", "autocomplete": "off"}),
    )
