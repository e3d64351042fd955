"""What ``/server_info`` says this server can do, by the reference's names.

A client asks for a name before it uses what stands behind it, so a name is here only where all of
that works; ``tests/server/test_capabilities.py`` uses each. Three names of the reference are
missing: ``credential_binding_v1``, ``credential_binding_readiness_probe_v1`` and
``credential_binding_activation_guard_v1``, by which its cloud hands an ACP agent credentials that
change while it runs.
"""

CAPABILITIES = (
    "conversation_runtime_routes_v1",
    "profile_secret_scope_v1",
    "profile_persona_v1",
    "idempotent_conversation_create_v1",
    "tool_catalog_v1",
    "agent_profile_draft_materialize_v1",
    "agent_launch_pipeline_v1",
    "profile_public_skills_v1",
    "skill_catalog_v1",
)
